"""Borders of our own files: records, weights, states, labels, a registry, a ledger, a checkpoint's JSON."""

from __future__ import annotations

import contextlib
import io
import json
from functools import partial
from pathlib import Path

import numpy as np

from reversi.games.rules import GAMES
from tests.configs import replay_config
from tests.fuzz.border import Border, Opened, from_file
from tests.random_games import random_records

REVERSI4, REVERSI6 = GAMES["reversi4"], GAMES["reversi6"]


def _records(folder: Path) -> Opened:
    """Decoded, checked, and what is good made into samples of both kinds."""
    from learner.replay.samples import samples_of
    from reversi.record import GOOD, check, decode, encode

    def read(data: bytes) -> object:
        records, _, _ = decode(data, "fuzz")
        return samples_of(records.select(check(records) == GOOD))

    sound = [encode(random_records(name, 3, 1), "actor-0-0", 5) for name in ("reversi4", "reversi8", "tictactoe")]
    return sound, read


def _deliveries(folder: Path) -> Opened:
    """The same bytes as a replay takes them: it raises nothing, it counts."""
    from learner.replay.memory import MemoryReplay
    from learner.replay.samples import POSITIONS
    from reversi.record import encode

    config = replay_config(capacity_positions=2_000, min_positions=10, window_start=100, bucket_capacity=1_000)
    replay = MemoryReplay(REVERSI4, config, POSITIONS, 1, folder / "rejected")
    return [encode(random_records("reversi4", 3, 1), f"actor-{n}-0", n) for n in range(3)], replay.add


def _replay_state(folder: Path) -> Opened:
    from learner.replay.memory import MemoryReplay
    from learner.replay.samples import POSITIONS
    from reversi.record import encode

    config = replay_config(capacity_positions=2_000, min_positions=10, window_start=100, bucket_capacity=1_000)
    replay = MemoryReplay(REVERSI4, config, POSITIONS, 1)
    empty = replay.state()
    for number in range(3):
        replay.add(encode(random_records("reversi4", 3, number), "actor-0-0", number))
    replay.sample(1, 16)
    return [empty, replay.state()], lambda data: MemoryReplay(REVERSI4, config, POSITIONS, 1).restore(data)


def _learner_state(folder: Path) -> Opened:
    from tests.learner.learners import Pool, Shelf, learner

    trained = learner(Pool(2), Shelf())
    trained.round(0.1)
    return [learner(Pool(0), Shelf()).state(), trained.state()], learner(Pool(0), Shelf()).restore


def _gate_state(folder: Path) -> Opened:
    from evaluator.gate import Gate
    from reversi.model.registry import Registry
    from tests.evaluator.gates import Store, gate_config, weights

    registry = Registry(str(folder / "registry"), create=True)
    config = gate_config(games=4, wins=3, simulations=1, games_at_once=2, truth_positions=0, opening_plies=4)

    def gate() -> Gate:
        return Gate(config, REVERSI6, registry, source=Store(), sink=Store(), seed=1)

    first = gate()
    first.offer(weights(0).to_bytes())
    first.round(0.0)
    first.offer(weights(1).to_bytes())
    first.round(0.0)  # a match under way
    playing = first.state()
    first.offer(weights(2).to_bytes())
    return [playing, first.state()], lambda data: gate().restore(data)


def _actor_state(folder: Path) -> Opened:
    from tests.actors.workers import Sink, Source, weights, worker

    source = Source()
    source.data = weights(0)
    playing = worker(source, Sink())
    playing.round(0.0)
    return [worker(Source(), Sink()).state(), playing.state()], worker(Source(), Sink()).restore


def _labels(folder: Path) -> Opened:
    from evaluator.labels import load_labels, make_labels, save_labels

    file = folder / "set.labels"
    save_labels(make_labels(REVERSI6, range(5, 7), 6, seed=3), file)
    return [file.read_bytes()], partial(from_file, folder / "fuzzed", load_labels)


def _weights(folder: Path) -> Opened:
    from reversi.model.weights import Weights

    return [tiny_weights(name) for name in _NETWORKS], partial(Weights.from_bytes, where="fuzz")


def _registry_files(name: str, folder: Path) -> Opened:
    """A registry of which one file says something else."""
    from reversi.model.registry import Registry
    from reversi.model.weights import Weights

    url = str(folder / "registry")
    Registry(url, create=True).publish(Weights.from_bytes(tiny_weights("resnet"), "fuzz"), "promoted", None)
    file = folder / "registry" / name
    sound = [file.read_bytes()]

    def read(path: Path) -> object:
        registry = Registry(url)
        return registry.models(), registry.pull(None, folder / "pulled")

    return sound, partial(from_file, file, read)


def _ledger(folder: Path) -> Opened:
    from evaluator.ledger import FORMAT, Ledger
    from tests.evaluator.ledgers import ENTRY

    line = json.dumps({"format": FORMAT, **ENTRY.columns()}).encode()

    def read(data: bytes) -> object:
        return from_file(folder / "results.jsonl", Ledger, data + b"\n")

    return [line], read


def _checkpoint(name: str, folder: Path) -> Opened:
    """A checkpoint of which one file says something else; what is not as it was written is passed over."""
    from scripts.run.folder import RunFolder, newest_whole, read_json

    run = RunFolder.create(str(folder), "run")
    files = {"run.json": json.dumps({"number": 1, "parts": []}).encode(), "gate.safetensors": b"state"}
    run.save_checkpoint(1, files)
    file = run.checkpoints()[0] / name

    def read(path: Path) -> object:
        with contextlib.redirect_stderr(io.StringIO()):
            found = newest_whole(run.path)
        return read_json(found, "run.json", path)

    return [file.read_bytes()], partial(from_file, file, read)


_NETWORKS = ("resnet", "lines", "stack", "patterns", "table")


def tiny_weights(kind: str, version: int = 3) -> bytes:
    """Return weights of a few thousand numbers at most."""
    from reversi.model.config import NetworkConfig, PatternConfig, ResNetConfig, StackConfig, TableConfig
    from reversi.model.weights import Weights, array_dtype, array_shapes

    networks: dict[str, tuple[str, NetworkConfig]] = {
        "resnet": (
            "reversi4",
            ResNetConfig(blocks=1, channels=2, policy_channels=1, value_channels=1, value_hidden=2),
        ),
        "lines": (
            "reversi4",
            ResNetConfig(blocks=1, channels=2, policy_channels=1, value_channels=1, value_hidden=2, lines=True),
        ),
        "stack": (
            "reversi4",
            StackConfig(
                head="q",
                planes=2,
                filters=(2,),
                width=2,
                padding="same",
                hidden=(3,),
                square_bias=False,
                dropout=0.0,
                agents=1,
            ),
        ),
        "patterns": (
            "reversi4",
            PatternConfig(kind="patterns", patterns=("a1 b1 c1 d1", "a2 b2 c2 d2"), phase_discs=6),
        ),
        "table": ("tictactoe", TableConfig()),
    }
    game, network = networks[kind]
    rng = np.random.default_rng(1)
    shapes = array_shapes(network, GAMES[game].size)
    arrays = {name: rng.uniform(0.1, 0.9, shape).astype(array_dtype(network, name)) for name, shape in shapes.items()}
    return Weights(game, network, version, arrays).to_bytes()


BORDERS: tuple[Border, ...] = (
    Border("records", "archive", _records, weight=2),
    Border("deliveries to the replay", "archive", _deliveries, refusals=(), weight=0.5),
    Border("replay state", "archive", _replay_state),
    Border("learner state", "archive", _learner_state, weight=0.1),
    Border("gate state", "archive", _gate_state, weight=0.02),
    Border("actor state", "archive", _actor_state, weight=0.3),
    Border("weights", "archive", _weights),
    Border("labels", "archive", _labels, weight=0.3),
    Border("registry: gated.json", "json", partial(_registry_files, "gated.json"), weight=0.1),
    Border("registry: model.json", "json", partial(_registry_files, "models/000003/model.json"), weight=0.2),
    Border("registry: model", "archive", partial(_registry_files, "models/000003/model.safetensors"), weight=0.1),
    Border("checkpoint: manifest.json", "json", partial(_checkpoint, "manifest.json"), weight=0.2),
    Border("checkpoint: run.json", "json", partial(_checkpoint, "run.json"), weight=0.1),
    Border("ledger", "json", _ledger, weight=0.5),
)
