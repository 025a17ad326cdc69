"""Every border: where bytes or text of others come in, what reads them, what sound input is, how it may refuse others.

A reader may accept or raise one of its `refusals`; anything else that it raises, a long silence, a crash or memory
without bound is a defect.  `tests/fuzz/__main__.py` and `tests/fuzz/test_borders.py` go through this list.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from reversi.errors import ReversiError
from reversi.games.rules import GAMES
from tests.fuzz.mutate import Form
from tests.random_games import random_records

Read = Callable[[bytes], object]
Opened = tuple[Sequence[bytes], Read]
"""Sound inputs, and what reads them."""


@dataclass(frozen=True)
class Border:
    """One place where others are read."""

    name: str
    form: Form

    open: Callable[[Path], Opened]
    """Make sound inputs and the reader; the folder is empty and the border's own."""

    refusals: tuple[type[BaseException], ...] = (ReversiError,)
    """What the reader may raise."""

    words: tuple[bytes, ...] = ()
    """Text that means something there."""

    weight: float = 1.0
    """Its share of the inputs; slow readers get fewer."""


REVERSI4, REVERSI6, REVERSI8 = GAMES["reversi4"], GAMES["reversi6"], GAMES["reversi8"]

_GGF = f"(;GM[Othello]PB[a]PW[b]TY[8]BO[8 {'-' * 27}O*------*O{'-' * 27} *]B[F5/1.50/0.8]W[F6];)".encode()
_SGF = b"(;GM[2]FF[4]SZ[8];B[f5];W[d6];B[c3])"

DEAL = (
    "f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2b5a5a6a7g5e3b4c8g6g4c2e8d1"
    "f7e2g3h4f1e1f2g1b1f8g8b3h3b2h5b7a3a4a1a2c1h2h1g2b8a8g7h8h7h6"
)
"""A whole game on 8x8."""


def _text(*lines: str) -> list[bytes]:
    return [line.encode() for line in lines]


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
    from learner.replay.config import ReplayConfig
    from learner.replay.memory import MemoryReplay
    from reversi.record import encode

    config = ReplayConfig(capacity_positions=2_000, min_positions=10, window_start=100, bucket_capacity=1_000)
    replay = MemoryReplay(REVERSI4, config, 1, folder / "rejected")
    return [encode(random_records("reversi4", 3, 1), f"actor-{n}-0", n) for n in range(3)], replay.add


def _replay_state(folder: Path) -> Opened:
    from learner.replay.config import ReplayConfig
    from learner.replay.memory import MemoryReplay
    from reversi.record import encode

    config = ReplayConfig(capacity_positions=2_000, min_positions=10, window_start=100, bucket_capacity=1_000)
    replay = MemoryReplay(REVERSI4, config, 1, None)
    empty = replay.state()
    for number in range(3):
        replay.add(encode(random_records("reversi4", 3, number), "actor-0-0", number))
    replay.sample(1, 16)
    return [empty, replay.state()], lambda data: MemoryReplay(REVERSI4, config, 1, None).restore(data)


def _learner_state(folder: Path) -> Opened:
    from tests.learner.test_learner import Pool, Shelf, learner

    trained = learner(Pool(2), Shelf())
    trained.round(0.1)
    return [learner(Pool(0), Shelf()).state(), trained.state()], learner(Pool(0), Shelf()).restore


def _gate_state(folder: Path) -> Opened:
    from evaluator.config import GateConfig
    from evaluator.gate import Gate
    from reversi.model.registry import Registry
    from tests.evaluator.test_gate import Store, weights

    registry = Registry(str(folder / "registry"), create=True)
    config = GateConfig(games=4, wins=3, simulations=1, lockstep=2, truth_positions=0, opening_plies=4)

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
    from tests.actors.test_worker import Sink, Source, weights, worker

    source = Source()
    source.data = weights(0)
    playing = worker(source, Sink())
    playing.round(0.0)
    return [worker(Source(), Sink()).state(), playing.state()], worker(Source(), Sink()).restore


def _labels(folder: Path) -> Opened:
    from evaluator.labels import load_labels, make_labels, save_labels

    file = folder / "set.labels"
    save_labels(make_labels(REVERSI6, range(5, 7), 6, seed=3), file)
    return [file.read_bytes()], partial(_from_file, folder / "fuzzed", load_labels)


def _weights(folder: Path) -> Opened:
    from reversi.model.weights import Weights

    return [tiny_weights(name) for name in _NETWORKS], partial(Weights.from_bytes, where="fuzz")


def _registry_files(name: str, folder: Path) -> Opened:
    """A registry of which one file says something else."""
    from reversi.model.registry import Registry
    from reversi.model.weights import Weights

    url = str(folder / "registry")
    Registry(url, create=True).publish(Weights.from_bytes(tiny_weights("resnet"), "fuzz"), "first", None)
    file = folder / "registry" / name
    sound = [file.read_bytes()]

    def read(path: Path) -> object:
        registry = Registry(url)
        return registry.models(), registry.pull(None, folder / "pulled")

    return sound, partial(_from_file, file, read)


def _ledger(folder: Path) -> Opened:
    from evaluator.ledger import FORMAT, Ledger
    from tests.evaluator.test_ledger import ENTRY

    line = json.dumps({"format": FORMAT, **dataclasses.asdict(ENTRY)}).encode()

    def read(data: bytes) -> object:
        return _from_file(folder / "results.jsonl", Ledger, data + b"\n")

    return [line], read


def _openings(folder: Path) -> Opened:
    from evaluator.openings import load_openings

    sound = _text("f5d6c3\n# none\nf5f6 # two\n", DEAL[:40] + "\n")
    return sound, partial(_from_file, folder / "list", lambda path: load_openings(path, REVERSI8))


def _obf(folder: Path) -> Opened:
    from reversi.obf import read_obf

    board = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
    sound = _text(f"% problem\n{board}; G8:+18; H1:+12; H7:+6;\n", f"{board}\n")
    return sound, partial(_from_file, folder / "set.obf", read_obf)


def _transcript(folder: Path) -> Opened:
    from reversi.games.notation import parse_transcript

    return _text("f5d6c3", DEAL.upper(), " f5 d6 c3 "), lambda data: parse_transcript(REVERSI8, _decoded(data))


def _ggf(folder: Path) -> Opened:
    from reversi.ggf import parse_ggf

    other = _GGF.replace(b"B[F5/1.50/0.8]W[F6]", b"B[d3//0.01]W[c5/2.39/0.01]").replace(b"TY[8]", b"TI[05:00]RE[?]")
    return [_GGF, other], lambda data: str(parse_ggf(_decoded(data)))


def _sgf(folder: Path) -> Opened:
    from reversi.sgf import parse_sgf

    setup = b"(;GM[2]SZ[6]AB[cc][dd]AW[cd]AW[dc]PL[W];W[bc])"
    return [_SGF, setup], lambda data: parse_sgf(_decoded(data))


def _wthor_bytes() -> bytes:
    """Return two games of 8x8 as WTHOR has them, one of them cut short."""
    from reversi.games.notation import parse_transcript

    actions = parse_transcript(REVERSI8, DEAL)
    moves = bytes(10 * (action // 8 + 1) + action % 8 + 1 for action in actions)
    header = bytes((20, 26, 1, 1)) + (2).to_bytes(4, "little") + bytes(2) + (2026).to_bytes(2, "little") + bytes(4)
    return header + b"".join(bytes(6) + bytes((32, 32)) + each.ljust(60, b"\0") for each in (moves, moves[:30]))


def _game_file(suffix: str, sound: bytes, folder: Path) -> Opened:
    """A file of games, every one of them looked at, the good ones made into records."""
    from reversi.gamefiles import read_games_of

    def read(path: Path) -> object:
        games = read_games_of(path)
        said = [(games.title(index), games.problem(index)) for index in range(len(games))]
        return said, games.records(np.flatnonzero(games.is_good))

    return [sound], partial(_from_file, folder / f"games{suffix}", read)


def _redis_url(folder: Path) -> Opened:
    """An address that is taken or refused, and in neither case said with its password."""
    from learner.replay.redis_url import RedisServer, has_password

    def read(data: bytes) -> object:
        url = _decoded(data)
        has_password(url)
        return str(RedisServer.of(url))

    return _text("redis://me:pass@host:6379/0", "rediss://host/1?ssl_ca_certs=file", "unix:///run/redis.sock"), read


def _redis_word(folder: Path) -> Opened:
    """What anybody may have written to the key by which the learner speaks to producers."""
    from learner.replay.redis_stream import Word

    return [Word(7, True).to_bytes(), Word(0, False).to_bytes()], Word.from_bytes


def _position(folder: Path) -> Opened:
    """What `analyze`, `solve` and `perft` read."""
    from reversi.games.position import Position

    def read(data: bytes) -> object:
        position = Position.parse(_decoded(data))
        return position.drawing(), position.margin, str(position)

    return _text(str(Position.start(REVERSI8)), str(Position.start(REVERSI4).play("b1")), "XO------- X"), read


def _lines_of_positions(folder: Path) -> Opened:
    """The whole of `reversi solve`: a line of answer for every line, whatever it is."""
    from reversi.games.position import Position
    from scripts.positions import read_positions

    def read(data: bytes) -> object:
        stream = mock.Mock(buffer=_Buffer(data), isatty=lambda: False)
        with mock.patch("sys.stdin", stream):
            answers = list(read_positions(None))
        assert len(answers) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
        return answers

    return [f"{Position.start(REVERSI8)}\n{Position.start(REVERSI6)}\n".encode()], read


def _gtp(folder: Path) -> Opened:
    """A whole session; an engine answers every line and raises nothing."""
    from reversi.frontends.gtp import Gtp

    sound = _text(
        "boardsize 6\nclear_board\nplay black c2\n1 genmove white\nshowboard\nundo\nquit\n",
        "time_settings 300 10 1\ntime_left black 9 0\ngenmove b\nreg_genmove w\nfinal_score\nloadsgf nothing.sgf 3\n",
        "list_commands\nknown_command play\nkomi 0.5\nset_game Othello\ngogui-rules_board\ngogui-rules_legal_moves\n",
    )
    return sound, partial(_talked, Gtp)


def _nboard(folder: Path) -> Opened:
    from reversi.frontends.nboard import NBoard

    start = "-" * 14 + "O*----*O" + "-" * 14
    sound = _text(
        f"nboard 2\nset depth 6\nset game (;GM[Othello]TY[6]BO[6 {start} *];)\nmove C2/1.0/0.1\nhint 3\ngo\nping 1\n",
        "set contempt 0\nanalyze\nlearn\nmove PA\nhint 99\nquit\n",
    )
    return sound, partial(_talked, NBoard)


def _engine(protocol: str, folder: Path) -> Opened:
    """What a started program writes: it costs that program the game, and nobody else anything."""
    from reversi.engines import gtp_client, nboard_client
    from reversi.engines.engine import EngineLimits
    from reversi.engines.player import EnginePlayer

    module: Any = {"gtp": gtp_client, "nboard": nboard_client}[protocol]
    client = {"gtp": gtp_client.GtpEngine, "nboard": nboard_client.NBoardEngine}[protocol]
    limits = EngineLimits(start_s=0.2, move_s=0.2)
    sound = {
        "gtp": _text("= \n\n= \n\n= d3\n\n", "=\n\n=\n\n= resign\n\n"),
        "nboard": _text("set myname x\npong 1\npong 2\nstatus x\n=== D3/1.5/0.1\n", "pong 1\npong 2\n=== PA\n"),
    }[protocol]

    def read(data: bytes) -> object:
        with mock.patch.object(module, "EngineProcess", partial(_recorded_program(), data[:32_768])):
            player = EnginePlayer("x", REVERSI8, lambda: client(["x"], REVERSI8, limits), 1)
            try:
                return player.choose_after([[]])
            finally:
                player.close()

    return sound, read


def _players(folder: Path) -> Opened:
    """Names of players; no program is ever started and no model is there."""
    from reversi.model.registry import Registry
    from reversi.players import make_player

    Registry(str(folder), create=True)

    def read(data: bytes) -> object:
        with mock.patch("shutil.which", return_value=None):
            return make_player(_decoded(data), REVERSI6, registry=str(folder), seed=1)

    return _text("random", "greedy", "flat-mc:150", "uct:1500", "alphabeta:3"), read


def _hydra(folder: Path) -> Opened:
    """Overrides as `reversi train` gets them, one per line, up to the job."""
    from scripts.compose import compose
    from scripts.config import job_of

    def read(data: bytes) -> object:
        return job_of(compose([line for line in _decoded(data).replace("\0", "").split("\n") if line]))

    return _text(
        "run.minutes=5\ngame=reversi8",
        "network=small\nsearch.simulations=32\nrun.name=x",
        "gate.games=40\ngate.wins=30",
    ), read


def _saved_configuration(folder: Path) -> Opened:
    """config.yaml of a run that is resumed."""
    from scripts.compose import compose, recompose, to_yaml
    from scripts.config import job_of

    sound = to_yaml(compose(["run.minutes=1"])).encode()
    return [sound], partial(_from_file, folder / "config.yaml", lambda path: job_of(recompose(path, ["run.minutes=2"])))


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
    Border("ledger", "json", _ledger, weight=0.5),
    Border("openings", "text", _openings, weight=0.3, words=(b"f5", b"pass", b"#", b"\n")),
    Border("transcripts", "text", _transcript, weight=2, words=(b"f5", b"pass", b"PASS", b"z9", b"a9")),
    Border("OBF", "text", _obf, weight=0.3, words=(b"; G8:+18;", b"PA:0;", b"%", b"\n", b"--")),
    Border("GGF", "text", _ggf, weight=2, words=(b"B[PA]", b"W[]", b"BO[6 ", b"TY[8a]", b"(;", b";)", b"nan", b"/")),
    Border("SGF", "text", _sgf, weight=2, words=(b"AB[aa]", b"AW[tt]", b";B[]", b"SZ[19]", b"PL[W]", b"\\]", b"(;")),
    Border("WTHOR", "bytes", partial(_game_file, ".wtb", _wthor_bytes()), weight=0.5),
    Border(
        "CSV of games",
        "text",
        partial(_game_file, ".csv", f"id,moves\n1,{DEAL}\n".encode()),
        words=(b'"', b","),
        weight=0.3,
    ),
    Border(
        "text of games",
        "text",
        partial(_game_file, ".txt", f"{DEAL}\nF5 d6\n".encode()),
        words=(b"#", b"\n"),
        weight=0.3,
    ),
    Border("GGF file", "text", partial(_game_file, ".ggf", _GGF), words=(b"B[PA]", b"(;", b";)", b"BO[6 "), weight=0.5),
    Border(
        "SGF file", "text", partial(_game_file, ".sgf", _SGF), words=(b"AB[aa]", b";B[]", b"\\]", b"(;"), weight=0.5
    ),
    Border("Redis URLs", "text", _redis_url, words=(b"redis://", b"@", b":", b"?", b"&password=x", b"[", b"%")),
    Border("Redis words", "bytes", _redis_word, refusals=()),
    Border("positions", "text", _position, weight=2, words=(b"X", b"O", b"-", b" X", b" O")),
    Border("lines of positions", "text", _lines_of_positions, refusals=(), words=(b"\n", b"\r\n", b"\x85", b" X\n")),
    Border(
        "GTP",
        "text",
        _gtp,
        (),
        weight=0.2,
        words=(b"play b ", b"genmove w\n", b"undo\n", b"#", b"\t", b"1e308", b"99999"),
    ),
    Border(
        "NBoard",
        "text",
        _nboard,
        (),
        weight=0.2,
        words=(b"move F5\n", b"set depth ", b"go\n", b"ping 1\n", b"hint 9\n"),
    ),
    Border("a GTP engine's answers", "text", partial(_engine, "gtp"), words=(b"= ", b"? ", b"=1 pass", b"\n\n", b"\r")),
    Border("an NBoard engine's answers", "text", partial(_engine, "nboard"), words=(b"=== ", b"pong 1\n", b"/nan/")),
    Border("names of players", "text", _players, weight=1, words=(b"mcts:", b"gated", b",margin=", b"solve=", b"gtp:")),
    Border("Hydra overrides", "text", _hydra, weight=0.0005, words=(b"+", b"~", b"[", b"{", b"${", b"}", b"\n", b"@")),
    Border(
        "config.yaml", "text", _saved_configuration, weight=0.001, words=(b": ", b"- ", b"&a ", b"*a", b"!!", b"${")
    ),
)
"""Every border, in the order in which they are tried."""

_NETWORKS = ("resnet", "stack", "table")


def tiny_weights(kind: str, version: int = 3) -> bytes:
    """Return weights of a few hundred numbers."""
    from reversi.model.config import NetworkConfig, ResNetConfig, StackConfig, TableConfig
    from reversi.model.weights import Weights, array_shapes

    networks: dict[str, tuple[str, NetworkConfig]] = {
        "resnet": (
            "reversi4",
            ResNetConfig(blocks=1, channels=2, policy_channels=1, value_channels=1, value_hidden=2),
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
            ),
        ),
        "table": ("tictactoe", TableConfig()),
    }
    game, network = networks[kind]
    rng = np.random.default_rng(1)
    shapes = array_shapes(network, GAMES[game].size)
    arrays = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    return Weights(game, network, version, arrays).to_bytes()


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")


def _from_file(path: Path, read: Callable[[Path], object], data: bytes) -> object:
    path.write_bytes(data)
    return read(path)


class _Buffer:
    """The binary side of a standard input that is given at once."""

    def __init__(self, data: bytes) -> None:
        import io

        self._file = io.BytesIO(data)
        self.read, self.readline = self._file.read, self._file.readline


def _talked(frontend: Callable[..., Any], data: bytes) -> object:
    """Hold one conversation with a front end on 4x4 and 6x6; its mind plays the first move."""
    from tests.reversi.frontends.stubs import lines_of, session_of

    said: list[str] = []
    frontend(session_of("reversi6"), lines_of(data), said.append).serve()
    return said


def _recorded_program() -> Any:
    """Return an `EngineProcess` that reads what was recorded through a real pipe, and starts nothing."""
    from collections import deque
    from selectors import EVENT_READ, DefaultSelector

    from reversi.engines.process import EngineProcess
    from reversi.errors import EngineError

    class Recorded(EngineProcess):
        def __init__(self, written: bytes, command: Sequence[str], farewell: str) -> None:
            self._stdout, end = os.pipe()
            os.write(end, written)
            os.close(end)
            self._stderr = -1
            self._selector = DefaultSelector()
            self._selector.register(self._stdout, EVENT_READ)
            self._lines: deque[str] = deque()
            self._rest = self._complaint = b""

        def send(self, line: str) -> None:
            line.encode()

        def stop(self) -> None:
            self._selector.close()
            with contextlib.suppress(OSError):
                os.close(self._stdout)

        def _last_words(self) -> str:
            raise EngineError("it ended")

    return Recorded


def named(names: Iterable[str]) -> list[Border]:
    """Return the borders of those names, all for none."""
    wanted = set(names)
    assert wanted <= {border.name for border in BORDERS}, f"expected names of borders, got {sorted(wanted)}"
    return [border for border in BORDERS if not wanted or border.name in wanted]
