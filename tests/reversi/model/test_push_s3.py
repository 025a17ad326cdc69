"""A registry in S3, of a server in this process: published, pushed to, rolled back, pulled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reversi.model.champion import ChampionFollower
from reversi.model.lookup import load_model
from reversi.model.push import push
from reversi.model.registry import Registry
from tests.reversi.model.samples import MATCH, weights

boto3 = pytest.importorskip("boto3")
pytest.importorskip("s3fs")
server = pytest.importorskip("moto.server")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "me",
        "AWS_SECRET_ACCESS_KEY": "hunter22",
        "AWS_DEFAULT_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="models")
    return "s3://models"


def test_a_registry_in_a_bucket_is_one_like_any_other(bucket: str, tmp_path: Path) -> None:
    source = Registry(f"{bucket}/run", create=True)
    source.publish(weights("reversi4", 0), "first", None)
    source.publish(weights("reversi4", 3, seed=3), "promoted", MATCH)
    there = f"{bucket}/pushed"
    push(source, source.gated(), there)
    follower = ChampionFollower(Registry(there), lambda champion: champion.weights.version)
    source.publish(weights("reversi4", 5, seed=5), "promoted", MATCH)
    push(source, source.gated(), there)
    assert (follower.current, follower.newer()) == (3, 5)
    source.roll_back(3, "why")
    push(source, source.gated(), there)
    registry = Registry(there)
    assert [info.version for info in registry.models()] == [3, 5]
    assert registry.pull(None, tmp_path / "m").sha256 == source.get(3).sha256
    assert load_model("5", there).version == 5
