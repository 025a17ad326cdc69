"""Commands of the documentation run or at least are read, snippets run, files that it names are there, generated pages
are current."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest
import yaml

from reversi.model.export import to_onnx
from reversi.model.registry import Registry
from scripts import cli
from scripts.bench.setup import Settings, random_weights
from scripts.config.compose import compose
from scripts.config.job import job_of
from tests.documents import anchors, blocks, commands, files, steps
from tests.figures.metrics import text

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path for glob in ("*", "docs/*", "docs/*/*", "[!.]*/README", "[!.]*/*/README") for path in ROOT.glob(f"{glob}.md")
)
TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]
SNIPPETS = [(page, code) for page in PAGES if page not in TUTORIALS for code in blocks(page, "python")]
COMMANDS = [line for page in PAGES if page not in TUTORIALS for code in blocks(page, "sh") for line in commands(code)]


LONG = sorted(
    {
        line
        for page in PAGES
        for line in re.findall(r"^    (reversi .*)$", page.read_text(encoding="utf-8").replace("\\\n", " "), re.M)
    }
)
"""Commands that take too long, or want what is not here: a cluster, files, a trained model."""

MODULES = sorted(
    {
        line
        for page in PAGES
        for line in re.findall(r"^    (python -m tests\..*)$", page.read_text(encoding="utf-8"), re.M)
    }
)
"""Harnesses and figures: commands of a checkout."""


@pytest.fixture
def _a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that holds a run with a gated 6x6 model, and that model as an ONNX file."""
    registry = Registry(str(tmp_path / "runs" / "example" / "registry"), create=True)
    weights = random_weights(Settings(size=6, blocks=1, channels=8))
    registry.publish(weights, "promoted", None)
    (tmp_path / "champion.onnx").write_bytes(to_onnx(weights))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_a_run")
@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_documentation_runs(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command, *arguments = shlex.split(line, comments=True)
    assert command == "reversi", f"a ```sh block holds reversi commands only, got {line!r}"
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115 - as long as the test
    assert cli.main(arguments) == 0


@pytest.mark.usefixtures("_a_run")
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one folder: files that it shows are written, commands in ```sh blocks and snippets run in their order.

    Commands in indented lines want a cluster, a GPU or minutes, and are only read.
    """
    monkeypatch.syspath_prepend(str(Path.cwd()))
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115 - as long as the test
    for name, content in files(page).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}
    for language, code in steps(page):
        if language == "python":
            exec(compile(code, str(page), "exec"), names)
        for line in commands(code) if language == "sh" else ():
            command, *arguments = shlex.split(line, comments=True)
            assert command == "reversi", f"a ```sh block holds reversi commands only, got {line!r}"
            assert cli.main(arguments) == 0, line


def test_the_tutorial_of_kuberay_names_the_objects_of_its_manifest() -> None:
    page = (ROOT / "docs" / "tutorials" / "kuberay.md").read_text(encoding="utf-8")
    manifest = (ROOT / "deploy" / "rayjob.yaml").read_text(encoding="utf-8")
    objects = {(each["kind"], each["metadata"]["name"]) for each in yaml.safe_load_all(manifest)}
    table = re.findall(r"^\| ([A-Z]\w+)(?: and ([A-Z]\w+))? ((?:`[\w-]+`(?:, )?)+) \|", page, re.M)
    named = {(kind, name) for *kinds, names in table for kind in kinds if kind for name in re.findall("`(.*?)`", names)}
    assert named - {("Secret", "reversi")} == objects
    secret = re.search(r"create secret generic (\S+)", page)
    keys = re.findall(r"--from-literal=(\w+)=", page)
    assert secret
    assert f"secretName: {secret[1]}" in manifest
    assert set(re.findall(r"^ +key: (\w+)$", manifest, re.M)) < set(keys)
    (job,) = re.findall(r"^reversi train (.*) --cfg job$", page, re.M)
    assert [each for each in job.split() if each not in manifest] == []


@pytest.mark.parametrize("line", LONG)
def test_every_other_command_is_one_that_is_understood(line: str) -> None:
    _, name, *arguments = shlex.split(line, comments=True)
    if name == "train":
        assert job_of(compose(arguments)).run.name
    else:
        assert cli.parser_of(name).parse_args(arguments)


@pytest.mark.parametrize("line", MODULES)
def test_every_command_of_a_checkout_is_one_that_is_understood(line: str) -> None:
    _, _, module, *arguments = shlex.split(line, comments=True)
    assert importlib.import_module(f"{module}.__main__").parser().parse_args(arguments)


def test_there_are_commands_of_every_kind() -> None:
    assert len(COMMANDS) >= 5
    assert len(LONG) + len(MODULES) >= 30
    assert len(MODULES) >= 5


@pytest.mark.usefixtures("_a_run")
@pytest.mark.parametrize(("page", "code"), SNIPPETS, ids=[page.parent.name for page, _ in SNIPPETS])
def test_every_snippet_runs(page: Path, code: str) -> None:
    names: dict[str, object] = {}
    exec(compile(code, str(page), "exec"), names)
    assert len(names) > 1


def test_the_readme_and_the_documents_are_short() -> None:
    """In words, as `wc -w` counts them but for the bars and dashes of tables."""
    words = {page: len(re.findall(r"\S*\w\S*", page.read_text(encoding="utf-8"))) for page in PAGES}
    assert words[ROOT / "README.md"] <= 1_200
    assert sum(count for page, count in words.items() if ROOT / "docs" in page.parents) <= 30_000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8"))
    there = [(page.parent / link if link else page, place) for link, place in links if "://" not in link]
    assert [str(path) for path, _ in there if not path.exists()] == []
    assert [f"{path}#{place}" for path, place in there if place and place not in anchors(path)] == []


@pytest.mark.parametrize(
    "package", [p for p in PAGES if p.name == "README.md" and p.parent != ROOT], ids=lambda p: str(p.parent.name)
)
def test_a_package_page_names_every_file(package: Path) -> None:
    """Those of its subpackages too, by name or path, if they have no page of their own."""
    page = package.read_text(encoding="utf-8")
    files = [
        path.relative_to(package.parent)
        for path in package.parent.rglob("*.py")
        if path.name != "__init__.py" and not path.name.startswith("test_")
    ]
    mine = [path for path in files if page_of(package.parent / path) == package]
    assert [str(path) for path in mine if not {f"`{path.name}`", f"`{path}`"} & set(re.findall("`[^`]+`", page))] == []


def page_of(path: Path) -> Path:
    """Return the package page that is nearest above a file."""
    return next(folder / "README.md" for folder in path.parents if (folder / "README.md").exists())


def test_the_table_of_metrics_is_current_and_complete() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == text()
    assert " |  |" not in text(), "a metric without a meaning"
