"""What SECURITY.md says, held to it: no code out of data, no way out of a registry, no secret in what others read."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reversi.errors import ConfigError, CorruptFileError, ReversiError, RunError
from reversi.model.lookup import load_model
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from scripts import cli
from tests.fuzz.archive_borders import tiny_weights

ROOT = Path(__file__).parent.parent
PACKAGES = ("reversi", "actors", "learner", "evaluator", "scripts", "conf")

CODE_OUT_OF_DATA = {
    *("pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"),
    *("eval", "exec", "__import__"),
    *("yaml.load", "yaml.full_load", "yaml.unsafe_load", "torch.load", "np.load", "numpy.load", "pd.read_pickle"),
    *("os.system", "os.popen", "subprocess.getoutput", "tarfile.open", "shutil.unpack_archive"),
}
"""Modules that are not imported and functions that are not called: with them to read is to run, or write anywhere."""


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def used(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported and every plain or dotted name that is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call):
            yield ast.unparse(node.func)
            yield from (f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords)


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_that_is_read_can_run(path: Path) -> None:
    found = set(used(ast.parse(path.read_text(encoding="utf-8"))))
    assert not found & (CODE_OUT_OF_DATA | {"shell=True", "allow_pickle=True", "trust_remote_code=True"})


def test_the_search_for_such_calls_finds_them() -> None:
    bad = "import pickle\nimport numpy as np\nnp.load(f, allow_pickle=True)\nsubprocess.run('x', shell=True)\neval('1')"
    assert set(used(ast.parse(bad))) >= {"pickle", "np.load", "allow_pickle=True", "shell=True", "eval"}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    weights = Weights.from_bytes(tiny_weights("resnet", version=3), "test")
    Registry(str(tmp_path / "registry"), create=True).publish(weights, "promoted", None)
    return tmp_path / "registry"


def described(registry: Path, **changes: object) -> Registry:
    """The registry with another description of its model."""
    file = registry / "models" / "000003" / "model.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return Registry(str(registry))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": -2}, "size must be from 0 to"),  # read(-1) would read without end
        ({"size": 1 << 62}, "size must be from 0 to"),
        ({"size": True}, "size must be an integer, got True"),
        ({"version": -3}, "version must be from 0 to"),
        ({"version": 10**400}, "version must be from 0 to"),
        ({"wins": 10**400, "score": 0.5}, "wins must be from 0 to"),
        ({"score": 10**400}, "score must be a number, got 1000"),
        ({"score": 2}, "score must be from 0 to 1, got 2.0"),
        ({"network": 7}, "network must be a group of settings, got 7"),
        ({"sha256": "\x1b[2J" + "0" * 60}, "sha256 must be a SHA-256, got "),
        ({"created": "2026-11-21\x1b10:00"}, "created must be a date, got "),
        ({"sha256": "0" * 64}, "expected SHA-256 0000"),
        ({"game": "../../reversi8"}, "game must be one of reversi4, "),
    ],
)
def test_a_description_that_lies_is_refused_before_anything_is_written(
    registry: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ReversiError) as error:
        described(registry, **change).pull(None, tmp_path / "pulled")
    assert message in str(error.value)
    assert "\x1b" not in str(error.value)
    assert not (tmp_path / "pulled").exists()


@pytest.mark.timeout(100)
def test_a_pipe_in_a_registry_is_not_waited_for(registry: Path, tmp_path: Path) -> None:
    for name in ("model.safetensors", "model.json"):
        file = registry / "models" / "000003" / name
        kept = file.read_bytes()
        file.unlink()
        os.mkfifo(file)
        with pytest.raises(CorruptFileError, match="expected a file, got something else"):
            Registry(str(registry)).pull(None, tmp_path / "pulled")
        file.unlink()
        file.write_bytes(kept)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReversiError, match=r"got '.*pipe'"):
        load_model(str(tmp_path / "pipe"))


def test_a_link_out_of_a_registry_gives_nothing_away_and_is_not_written_through(registry: Path, tmp_path: Path) -> None:
    """What it leads to is read, bounded, and refused by its hash; a pull replaces links and does not follow them."""
    secret, weights = tmp_path / "secret", registry / "models" / "000003" / "model.safetensors"
    kept = weights.read_bytes()
    secret.write_text("the combination is 12345")
    weights.unlink()
    weights.symlink_to(secret)
    with pytest.raises(CorruptFileError) as error:
        Registry(str(registry)).pull(None, tmp_path / "pulled")
    assert "12345" not in str(error.value)
    weights.unlink()
    weights.write_bytes(kept)
    (tmp_path / "pulled").mkdir()
    (tmp_path / "pulled" / "card.md").symlink_to(secret)
    Registry(str(registry)).pull(None, tmp_path / "pulled")
    assert secret.read_text() == "the combination is 12345"
    assert not (tmp_path / "pulled" / "card.md").is_symlink()


@pytest.mark.parametrize("version", ["-1", "1e3", '"../../etc"', "null", "true", "[" * 100_000, "2147483648", "1.5"])
def test_a_gated_version_is_a_number_or_nothing(registry: Path, version: str) -> None:
    (registry / "gated.json").write_text('{"version": ' + version + "}")
    with pytest.raises(CorruptFileError, match=r"gated\.json: expected a version"):
        Registry(str(registry)).gated()


def test_a_password_in_a_url_is_refused_in_a_configuration_and_masked_in_messages() -> None:
    from scripts.config.job import RegistryConfig

    with pytest.raises(ConfigError) as refused:
        RegistryConfig(url="s3://key:hunter22@bucket/models", keep_rejected=None)
    assert "s3://***@bucket/models" in str(refused.value)
    with pytest.raises(ReversiError) as away:
        Registry("ftp://me:hunter22@127.0.0.1:9/models").gated()
    for error in (refused, away):
        assert "hunter22" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        *("https://hunter22@host/models", "https://hunter22:x-oauth-basic@host/", "s3://bucket/models?sig=hunter22"),
        *("https://host/m?pwd=hunter22&x=1", "http://host/?a=1&code=hunter22", "simplecache::https://hunter22@host/m"),
        *("abfs://box@account/m?sv=hunter22", "ftp://me:hunter22@host/m"),
        *("https://host/m?hunter22", "https://host/m;sig=hunter22", "https://host/m?a=1;sig=hunter22&page=2"),
    ],
)
def test_whatever_may_be_a_secret_of_a_url_is_refused_and_masked(url: str) -> None:
    from reversi.urls import masked
    from scripts.config.job import RegistryConfig

    assert "hunter22" not in masked(f"cannot reach {url}: no")
    with pytest.raises(ConfigError, match=r"registry\.url must not hold a password") as refused:
        RegistryConfig(url=url, keep_rejected=None)
    assert "hunter22" not in str(refused.value)


@pytest.mark.parametrize(
    "arguments",
    [
        *("status night --address", "stop night --address", "watch night --address", "report", "replay", "review"),
        *("solve", "analyze", "models --registry", "match --a greedy --b", "perft --no-such"),
    ],
)
def test_a_secret_on_the_command_line_is_in_no_message(
    arguments: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for rest in ("me:hunter22@127.0.0.1:9/m", "127.0.0.1:9/m?sig=hunter22", "127.0.0.1:9/m?hunter22"):
        assert cli.main([*arguments.split(), f"http://{rest}"]) != 0
        said = capsys.readouterr()
        assert "hunter22" not in said.out + said.err


def test_a_driver_that_repeats_a_key_and_a_port_of_a_host_are_told_apart() -> None:
    from reversi.urls import masked

    assert masked("no such bucket: 'AKIA:hunter22@bucket'") == "no such bucket: '***@bucket'"
    for plain in ("connect to 127.0.0.1:9 failed", "at 12:30 someone@host", "http://host:80/a@b", "f5:d6"):
        assert masked(plain) == plain


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("WANDB_API_KEY", "hunter22", True),
        ("PGPASSWORD", "hunter22", True),
        ("my_token", "hunter22", True),
        ("AWS_ACCESS_KEY_ID", "hunter22", True),
        ("MIRROR", "https://me:hunter22@host/", True),
        ("RAY_AUTH_TOKEN_PATH", "/keys/token", False),
        ("TOKENIZERS_PARALLELISM", "false", False),
        ("KEYBOARD", "us", False),
        ("OMP_PROC_BIND", "close", False),
    ],
)
def test_a_secret_among_a_clusters_variables_is_refused_by_its_name(name: str, value: str, refused: bool) -> None:
    from scripts.config.compose import compose
    from scripts.config.job import job_of

    values = compose(["cluster=ray", f"+cluster.env_vars.{name}='{value}'"])
    if not refused:
        job_of(values)
        return
    with pytest.raises(ConfigError, match=rf"cluster\.env_vars\.{name} must be nothing secret") as error:
        job_of(values)
    assert "hunter22" not in str(error.value)


def test_a_registry_of_another_game_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace
    from typing import Any, cast

    from scripts.launch.preflight import check_registry

    other = Registry("memory://me:hunter22@host/models")
    monkeypatch.setattr(other, "models", lambda: [SimpleNamespace(game="reversi4", network="n")])
    job: Any = SimpleNamespace(game=SimpleNamespace(name="reversi8"), network="n")
    with pytest.raises(ReversiError) as error:
        check_registry(cast(Any, job), other)
    assert str(error.value).startswith("memory://***@host/models: expected models of reversi8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a0: &a0 [1, 1]\n" + "".join(f"a{i}: &a{i} [{f'*a{i - 1}, ' * 9}]\n" for i in range(1, 12)), "aliases"),
        ("x: " + "y" * (1 << 20), "at most 262144 bytes"),
        ("x: " + "[" * 10_000, "maximum recursion depth"),
        ("- run\n- game\n", "cannot read"),
    ],
    ids=["aliases of aliases", "too long", "brackets without end", "a list"],
)
def test_a_configuration_that_would_fill_the_memory_is_refused(tmp_path: Path, text: str, words: str) -> None:
    from scripts.config.compose import recompose
    from scripts.run.status import read_status

    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(ConfigError, match=words):
        recompose(tmp_path / "config.yaml", ["run.minutes=2"])
    with pytest.raises(RunError, match="expected the folder of a run"):  # `reversi status` reads it too
        read_status(tmp_path)


def test_brackets_without_end_in_a_checkpoint_and_in_metrics_are_damage_and_no_crash(tmp_path: Path) -> None:
    from scripts.run.folder import read_json
    from scripts.run.tracking.jsonl import rows_of

    deep = b"[" * 1_000_000
    with pytest.raises(CorruptFileError, match=r"run\.json' is missing or cannot be read"):
        read_json({"run.json": deep}, "run.json", tmp_path)
    (tmp_path / "metrics.jsonl").write_bytes(deep + b'\n5\n{"elapsed_s": 1.0}\n{"a')
    assert rows_of(tmp_path, "elapsed_s") == [{"elapsed_s": 1.0}]


def test_a_ray_of_our_own_has_a_token_that_nobody_else_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts.config.cluster import LocalClusterConfig
    from scripts.ray.environment import prepare

    local = LocalClusterConfig(kind="local", object_store_mb=80, max_restarts=1, stall_s=60)
    given: set[str] = set()
    for _ in range(2):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        monkeypatch.setattr(os, "environ", environment)
        prepare(local)
        assert environment["RAY_AUTH_MODE"] == "token"
        given.add(environment["RAY_AUTH_TOKEN"])
    assert [len(token) for token in given] == [64, 64]
