"""How a run describes itself in the models that it publishes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from reversi import __version__
from reversi.capacity import cores
from reversi.model.machine import cpu, has_nvidia_gpu
from reversi.model.training import Training
from reversi.urls import masked
from scripts.config.compose import to_yaml

if TYPE_CHECKING:
    from scripts.config.job import JobConfig

PLACES = {"run": ("name", "dir"), "replay": ("url",)}
"""Settings that say where a run is, and nothing about what it learns; so do all of some groups."""

GROUPS = ("run", "game", "algorithm", "network", "search", "actors", "replay", "learner", "gate")


def training_of(job: JobConfig, name: str) -> Training:
    """Return the description of the run `name` of a job, on this machine."""
    values = asdict(job)
    chosen = {
        group: {key: value for key, value in values[group].items() if key not in PLACES.get(group, ())}
        for group in GROUPS
    }
    on_a_cluster = job.cluster.kind == "ray"
    machine = f"{cpu().name}{', NVIDIA GPU' if has_nvidia_gpu() else ''}"
    return Training(
        run=name,
        algorithm=job.algorithm.name,
        program=f"reversi-zero {__version__}",
        machine=f"a Ray cluster, its driver on {machine}" if on_a_cluster else machine,
        cores=None if on_a_cluster else cores(),
        configuration=masked(to_yaml(chosen)),
    )
