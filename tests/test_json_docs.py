"""docs/json.md names every field of every command's --json, with its type, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts import cli
from scripts.bench import measure
from scripts.ray.jobs import Job
from tests.scripts.conftest import Reversi, registry, reversi  # noqa: F401 - fixtures
from tests.scripts.run.written_runs import held, made

PAGES = Path(__file__).parent.parent / "docs"

START = "--------------OX----XO-------------- X"
ENDGAME = "XXXXXXXXXXXOXOOOOOXXOXOOXOXOOO--O--- O"

SAME_FIELDS = {"reversi rate --truth": ("players[].empties.*.", "players[].all.")}
"""An object whose fields are those of another one of the same output."""

KINDS: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "list": (list,),
    "null": (type(None),),
}


def documented(page: Path) -> dict[str, dict[str, str]]:
    """Return the type of every field in the page's tables of fields, by the heading above it."""
    found: dict[str, dict[str, str]] = {}
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)[1:]:
        heading, _, body = section.partition("\n")
        fields = found.setdefault(heading.replace("`", ""), {})
        for line in body.splitlines():
            if line.startswith("| `"):
                names, kind, meaning = (cell.strip() for cell in line.strip("|").split("|"))
                kind = kind.split(", ")[0]  # then the unit
                assert meaning or re.search("list|object|name|any", kind + names), f"{heading}: {names} has no meaning"
                fields |= dict.fromkeys(re.findall("`([^`]+)`", names), kind)
    return found


TABLES = documented(PAGES / "json.md")


def fields_of(value: dict[str, Any], tables: dict[str, str], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field of a JSON object with its value; keys are `*` where the table says so, and `any` is opaque."""
    for key, inner in value.items():
        name = f"{path}*" if f"{path}*" in tables else f"{path}{key}"
        yield name, inner
        if tables.get(name) == "any":
            continue
        if isinstance(inner, dict):
            yield from fields_of(inner, tables, f"{name}.")
        elif isinstance(inner, list):
            for each in inner:
                if isinstance(each, dict):
                    yield from fields_of(each, tables, f"{name}[].")


def has_kind(value: object, kind: str) -> bool:
    """Return whether a JSON value is of a type as the tables write it: `string or null`, `list of 2 numbers`."""
    if kind == "any":
        return True
    if isinstance(value, list) and (
        parts := re.fullmatch(r"list of (?:(\d+) )?(\w+?)s( or nulls)?(?: or null)?", kind)
    ):
        count, element, may_be_null = parts.groups()
        inside = element + (" or null" if may_be_null else "")
        return (count is None or len(value) == int(count)) and all(has_kind(each, inside) for each in value)
    allowed = tuple(each for name in kind.split(" or ") for each in KINDS[name.split(" of ")[0]] if name != "nulls")
    return isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))


@dataclass(frozen=True)
class Scene:
    """What an output is made from."""

    reversi: Reversi
    registry: Path
    folder: Path
    patch: pytest.MonkeyPatch

    def one(self, *arguments: object, stdin: str = "") -> Any:
        """Return the single JSON value that a command prints."""
        return json.loads(self.reversi(*arguments, "--json", stdin=stdin).out)

    def lines(self, *arguments: object, stdin: str = "") -> list[Any]:
        """Return the JSON value in each line that a command prints."""
        return [json.loads(line) for line in self.reversi(*arguments, "--json", stdin=stdin).out.splitlines()]


def match(scene: Scene) -> Iterable[dict[str, Any]]:
    players = ("match", "--a", "policy:gated", "--b", "greedy", "--games", 4, "--registry", scene.registry)
    yield scene.one(*players)
    yield scene.one(*players, "--sprt", "0,20")


def rate(scene: Scene) -> Iterable[dict[str, Any]]:
    players = ("random", "greedy", "policy:gated")
    yield scene.one("rate", "--size", 6, "--games", 2, "--registry", scene.registry, "--players", *players)


def truth(scene: Scene) -> Iterable[dict[str, Any]]:
    labels = scene.folder / "labels.safetensors"
    scene.one("label", "--size", 6, "--empties", "6-7", "--positions", 6, "-o", labels)
    yield scene.one("rate", "--truth", labels, "--registry", scene.registry, "--players", "greedy", "policy:gated")


def review(scene: Scene) -> Iterable[dict[str, Any]]:
    options = ("--registry", scene.registry, "--json")
    moves = "c2b2b3b4"
    yield from scene.lines("review", "-", *options, stdin=f"{moves}\nc2c2\n")
    yield from scene.lines("review", "-", *options, "--simulations", 4, "--solve", 24, stdin=f"{moves}\n")


def analyze(scene: Scene) -> Iterable[dict[str, Any]]:
    over = START.replace("O", "X")
    options = ("--simulations", 8, "--registry", scene.registry)
    return scene.lines("analyze", *options, stdin=f"{START}\n{ENDGAME}\n{over}\n")


def solve(scene: Scene) -> Iterable[dict[str, Any]]:
    yield from scene.lines("solve", stdin=f"{ENDGAME}\n{ENDGAME}; b6:+0\n")
    yield from scene.lines("solve", "--nodes", 1, stdin=f"{START}\n")


def unreadable(scene: Scene) -> Iterable[dict[str, Any]]:
    yield from scene.lines("analyze", "--registry", scene.registry, stdin="nonsense\n")
    yield from scene.lines("solve", stdin="nonsense\n")


def label(scene: Scene) -> Iterable[dict[str, Any]]:
    yield scene.one("label", "--size", 4, "--empties", "4", "--positions", 2, "-o", scene.folder / "labels")


def models(scene: Scene) -> Iterable[dict[str, Any]]:
    found: list[dict[str, Any]] = scene.one("models", "--registry", scene.registry)
    return found


def status(scene: Scene) -> Iterable[dict[str, Any]]:
    run = made(scene.folder / "runs" / "night")
    yield scene.one("status", run)
    said = {"how": "failed", "trained": True, "lost": True, "checkpoint": None, "error": "no room"}
    (run / "ended.json").write_text(json.dumps({"format": 1, **said}))
    yield scene.one("status", run)
    with held(run):
        scene.one("scale", run, 2)
        (run / "metrics.jsonl").write_text('{"run/games": 5, "health/actors/alive": 1.0}\n')
        yield scene.one("status", run)


def status_of_job(scene: Scene) -> Iterable[dict[str, Any]]:
    on_cluster(scene)
    yield scene.one("status", "night", "--address", "http://head")
    made(scene.folder / "night")
    yield scene.one("status", "night", "--address", "http://head")
    for job in scene.one("status", "--address", "http://head"):
        yield {"job": job, "run": None}


def stop(scene: Scene) -> Iterable[dict[str, Any]]:
    yield scene.one("stop", made(scene.folder / "runs" / "night"))
    on_cluster(scene)
    yield scene.one("stop", "night", "--address", "http://head")


def launch(scene: Scene) -> Iterable[dict[str, Any]]:
    on_cluster(scene)
    yield scene.one("launch", "--address", "http://head", f"run.dir={scene.folder}", "run.name=night")


def scale(scene: Scene) -> Iterable[dict[str, Any]]:
    run = made(scene.folder / "runs" / "night")
    with held(run):
        yield scene.one("scale", run, 2)


def bench(scene: Scene) -> Iterable[dict[str, Any]]:
    scene.patch.setattr(measure, "MEASUREMENT_S", 0.01)
    yield scene.one("bench", "perft_leaves_per_s", "--size", 6, "--repeats", 2)


def on_cluster(scene: Scene) -> None:
    """Put a cluster in the place of Ray's that has one job, whose run has no folder yet."""
    job = Job(
        id="night-1",
        run="night",
        folder=str(scene.folder / "night"),
        state="stopped",
        started="2026-01-01 00:00:00",
        ended=None,
        exit_code=None,
        message="",
    )

    class Cluster:
        address = "http://head"

        def __init__(self, address: str | None, token_file: str | None) -> None: ...

        def all(self) -> list[Job]:
            return [job]

        def find(self, what: str) -> Job:
            return job

        def submit(self, *_: object, **__: object) -> Job:
            return job

        def runtime_env(self, id: str) -> dict[str, Any]:
            return {}

        def run_command(self, *_: object, **__: object) -> str:
            return "null"

    scene.patch.setattr("scripts.ray.jobs.Jobs", Cluster)


SCENES: dict[str, Callable[[Scene], Iterable[dict[str, Any]]]] = {
    "reversi match": match,
    "reversi rate": rate,
    "reversi rate --truth": truth,
    "reversi analyze": analyze,
    "reversi review": review,
    "reversi solve": solve,
    "Lines that cannot be read": unreadable,
    "reversi replay": lambda scene: scene.lines("replay", "--size", 6, "c2b2"),
    "reversi label": label,
    "reversi pull": lambda scene: [scene.one("pull", "--registry", scene.registry, "-o", scene.folder / "champion")],
    "reversi push": lambda scene: [scene.one("push", scene.registry, scene.folder / "there")],
    "reversi models": models,
    "reversi export": lambda scene: [scene.one("export", "--registry", scene.registry, "-o", scene.folder / "m.onnx")],
    "reversi prove": lambda scene: [scene.one("prove", "--player", "random")],
    "reversi perft": lambda scene: [scene.one("perft", "--divide", 2)],
    "reversi signature": lambda scene: [scene.one("signature")],
    "reversi status": status,
    "reversi status --address": status_of_job,
    "reversi stop": stop,
    "reversi launch": launch,
    "reversi scale": scale,
    "reversi bench": bench,
}


@pytest.mark.parametrize("heading", SCENES)
def test_a_table_has_the_fields_of_the_output_and_no_other(
    heading: str,
    reversi: Reversi,  # noqa: F811
    registry: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_API_SERVER_ADDRESS", raising=False)
    table, found = TABLES[heading], {}
    for value in SCENES[heading](Scene(reversi, registry, tmp_path, monkeypatch)):
        for name, inner in fields_of(value, table):
            copy, original = SAME_FIELDS.get(heading, ("", ""))
            name = original + name.removeprefix(copy) if copy and name.startswith(copy) else name
            found[name] = True
            kind = table.get(name, "any")
            assert has_kind(inner, kind), f"docs/json.md, {heading}: {name} is {kind}, got {inner!r}"
    lacking, extra = sorted(found.keys() - table.keys()), sorted(table.keys() - found.keys())
    assert not lacking, f"docs/json.md, {heading}: add a row for {', '.join(lacking)}"
    assert not extra, f"docs/json.md, {heading}: no output has {', '.join(extra)}"


def test_every_command_with_json_has_a_table() -> None:
    commands = {name for name in cli.COMMANDS if name != "train" and "--json" in cli.parser_of(name).format_help()}
    tables = {heading.split()[1] for heading in TABLES if heading.startswith("reversi ")}
    assert commands == tables
    assert TABLES.keys() == SCENES.keys()


@pytest.mark.parametrize(
    ("value", "kind", "fits"),
    [
        (1, "integer", True),
        (True, "integer", False),
        (1.5, "integer", False),
        (1, "number", True),
        (None, "number", False),
        (None, "list of strings or null", True),
        (["a", None], "list of strings or null", False),
        ([1.0, None], "list of 2 numbers or nulls", True),
        ([1.0], "list of 2 numbers", False),
        ({}, "object or null", True),
    ],
)
def test_types_are_told_apart(value: object, kind: str, fits: bool) -> None:
    assert has_kind(value, kind) == fits
