"""The size of the machine, on trees of files such as containers and schedulers make."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

import reversi
from reversi.capacity import cores, memory_bytes
from scripts.config import job as jobs
from scripts.config.compose import compose
from scripts.config.job import ACTOR_BYTES, OTHERS_BYTES, check_threads, job_of

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw\n"
V1 = (
    "32 31 0:29 {top} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 {top} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)
GB = 1 << 30


def system(root: Path, groups: str, mounts: str, files: Mapping[str, str]) -> Path:
    """Write what Linux says of this process, and the files of its control groups."""
    for name, text in {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **files}.items():
        path = root / (name if name.startswith("proc") else f"sys/fs/cgroup/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture(autouse=True)
def _large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 cores and 256 GB."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 256 * GB // 4096}.__getitem__)


@pytest.mark.parametrize(
    ("groups", "mounts", "files", "expected"),
    [
        ("", "", {}, (64, 256)),
        ("0::/\n", V2, {"cpu.max": "max 100000\n", "memory.max": "max\n"}, (64, 256)),
        ("0::/\n", V2, {"cpu.max": "200000 100000\n", "memory.max": f"{3 * GB}\n"}, (2, 3)),
        ("0::/\n", V2, {"cpu.max": "250000 100000\n"}, (2, 256)),
        ("0::/\n", V2, {"cpu.max": "50000 100000\n"}, (1, 256)),
        (
            "0::/a/b\n",
            V2,
            {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000", "a/memory.max": str(9 * GB)},
            (3, 9),
        ),
        (
            "0::/a/b\n",
            V2,
            {"a/cpu.max": "800000 100000", "a/b/cpu.max": "400000 100000", "a/b/memory.max": str(4 * GB)},
            (4, 4),
        ),
        ("0::/../../docker/12\n", V2, {"cpu.max": "500000 100000"}, (5, 256)),
        (
            "4:memory:/docker/12\n3:cpu,cpuacct:/docker/12\n0::/\n",
            V1.format(top="/docker/12"),
            {
                "cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
                "cpu,cpuacct/cpu.cfs_period_us": "50000\n",
                "memory/memory.limit_in_bytes": f"{2 * GB}\n",
            },
            (3, 2),
        ),
        (
            "4:memory:/slurm/job\n3:cpu,cpuacct:/slurm/job\n0::/\n",
            V1.format(top="/"),
            {
                "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
                "cpu,cpuacct/slurm/job/cpu.cfs_quota_us": "700000\n",
                "cpu,cpuacct/slurm/job/cpu.cfs_period_us": "100000\n",
                "memory/memory.limit_in_bytes": "9223372036854771712\n",
                "memory/slurm/memory.limit_in_bytes": f"{8 * GB}\n",
            },
            (7, 8),
        ),
        ("nonsense\n\n::::\n", "1 2 3 - cgroup2\nnonsense - \n", {"cpu.max": "200000 100000"}, (64, 256)),
        ("0::/\n", V2, {"cpu.max": "many 0\n", "memory.max": "much\n"}, (64, 256)),
    ],
)
def test_the_least_of_all_limits_counts(
    tmp_path: Path, groups: str, mounts: str, files: dict[str, str], expected: tuple[int, int]
) -> None:
    root = system(tmp_path, groups, mounts, files)
    assert (cores(root), memory_bytes(root) // GB) == expected


def test_an_affinity_mask_below_the_quota_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = system(tmp_path, "0::/\n", V2, {"cpu.max": "400000 100000"})
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 9}, raising=False)
    assert cores(root) == 2


@pytest.mark.parametrize(
    ("overrides", "count", "memory", "actors"),
    [
        ([], 1, 64 * GB, 1),
        ([], 2, 64 * GB, 1),
        ([], 16, 64 * GB, 15),
        (["actors.threads=4"], 17, 64 * GB, 4),
        ([], 64, OTHERS_BYTES + 3 * ACTOR_BYTES, 3),
        ([], 64, GB, 1),
        (["experiment=reversi8_patterns"], 8, 64 * GB, 8),
    ],
)
def test_a_job_has_as_many_actors_as_the_machine_has_room_for(
    monkeypatch: pytest.MonkeyPatch, overrides: list[str], count: int, memory: int, actors: int
) -> None:
    monkeypatch.setattr(jobs, "cores", lambda: count)
    monkeypatch.setattr(jobs, "memory_bytes", lambda: memory)
    job = job_of(compose(overrides))
    assert job.actor_count == actors
    check_threads(job, count)


def test_nothing_else_counts_cores_or_memory() -> None:
    """One definition: who asks the host counts what a container does not have."""
    top = Path(reversi.__file__).parent.parent
    names = {"cpu_count", "process_cpu_count", "sched_getaffinity", "virtual_memory", "SC_PHYS_PAGES"}
    asking = {
        str(path.relative_to(top))
        for package in ("reversi", "actors", "learner", "evaluator", "scripts")
        for path in (top / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if getattr(node, "attr", getattr(node, "value", None)) in names and not isinstance(node, ast.keyword)
    }
    assert asking == {"reversi/capacity.py"}
