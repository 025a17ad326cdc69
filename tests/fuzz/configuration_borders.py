"""Borders of what people configure, and of what lies in a run's folder: overrides, YAML, names, addresses, metrics."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from unittest import mock

from reversi.games.rules import GAMES
from tests.fuzz.border import Border, Opened, decoded, from_file, lines_of

REVERSI6 = GAMES["reversi6"]


def _redis_url(folder: Path) -> Opened:
    """An address that is taken or refused, and in neither case said with its password."""
    from learner.replay.redis.server import RedisServer
    from reversi.urls import has_password

    def read(data: bytes) -> object:
        url = decoded(data)
        has_password(url)
        return str(RedisServer.of(url))

    return lines_of("redis://me:pass@host:6379/0", "rediss://host/1?ssl_ca_certs=file", "unix:///run/redis.sock"), read


def _players(folder: Path) -> Opened:
    """Names of players; no program is ever started and no model is there."""
    from reversi.model.registry import Registry
    from reversi.players import make_any_player

    Registry(str(folder), create=True)

    def read(data: bytes) -> object:
        with mock.patch("shutil.which", return_value=None):
            return make_any_player(decoded(data), REVERSI6, registry=str(folder), seed=1)

    return lines_of("random", "greedy", "flat-mc:150", "uct:1500", "alphabeta:3"), read


def _hydra(folder: Path) -> Opened:
    """Overrides as `reversi train` gets them, one per line, up to the job."""
    from scripts.config.compose import compose
    from scripts.config.job import job_of

    def read(data: bytes) -> object:
        return job_of(compose([line for line in decoded(data).replace("\0", "").split("\n") if line]))

    return lines_of(
        "run.minutes=5\ngame=reversi8",
        "network=small\nsearch.simulations=32\nrun.name=x",
        "gate.games=40\ngate.wins=30",
    ), read


def _saved_configuration(folder: Path) -> Opened:
    """config.yaml of a run that is resumed."""
    from scripts.config.compose import compose, recompose, to_yaml
    from scripts.config.job import job_of

    sound = to_yaml(compose(["run.minutes=1"])).encode()
    return [sound], partial(from_file, folder / "config.yaml", lambda path: job_of(recompose(path, ["run.minutes=2"])))


def _metrics(folder: Path) -> Opened:
    """A row of metrics.jsonl among sound ones, as `reversi picture` and a soak read it."""
    from scripts.run.learning_curves import SHOWN, panels_of
    from scripts.run.tracking.jsonl import rows_of
    from tests.faults.soak.memory_series import READ, series_of
    from tests.faults.soak.verdict import judge

    sound = [
        {"elapsed_s": 5.0 * at, "run/resident_mb": 900.0, "health/gate/rss_mb": 300.0, "health/gate/alive": 1.0}
        for at in range(20)
    ]
    others = b"".join(json.dumps(row).encode() + b"\n" for row in sound)

    def read(data: bytes) -> object:
        (folder / "metrics.jsonl").write_bytes(others + data + b"\n" + others)
        found = series_of(rows_of(folder, *READ))
        return panels_of(rows_of(folder, *SHOWN)), [judge(series, 20.0) for series in found]

    return [json.dumps(sound[3]).encode()], read


def _target(folder: Path) -> Opened:
    """What `reversi scale` leaves in a run's folder, and the driver looks for."""
    from scripts.run.control import CONTROL, read_target, write_target

    write_target(folder, {"cpu": 3, "gpu": 0})
    sound = [(folder / CONTROL).read_bytes()]
    return sound, partial(from_file, folder / CONTROL, lambda path: read_target(path.parent))


BORDERS: tuple[Border, ...] = (
    Border("Redis URLs", "text", _redis_url, words=(b"redis://", b"@", b":", b"?", b"&password=x", b"[", b"%")),
    Border("names of players", "text", _players, weight=1, words=(b"mcts:", b"gated", b",margin=", b"solve=", b"gtp:")),
    Border("Hydra overrides", "text", _hydra, weight=0.0005, words=(b"+", b"~", b"[", b"{", b"${", b"}", b"\n", b"@")),
    Border(
        "config.yaml", "text", _saved_configuration, weight=0.001, words=(b": ", b"- ", b"&a ", b"*a", b"!!", b"${")
    ),
    Border("metrics.jsonl", "json", _metrics, weight=0.05),
    Border("a target for the actors", "json", _target, weight=0.3),
)
