"""Registries: empty ones on disk and in memory, and one on disk with three models."""

import pytest

from reversi.model.registry import Registry
from tests.reversi.model.samples import MATCH, weights


@pytest.fixture(params=["folder", "memory"])
def url(request, tmp_path):
    return str(tmp_path / "registry") if request.param == "folder" else f"memory://{tmp_path.name}/registry"


@pytest.fixture
def registry(url):
    return Registry(url, create=True)


@pytest.fixture
def local(tmp_path):
    """A registry on disk with a first, a rejected and a promoted model."""
    made = Registry(str(tmp_path / "registry"), create=True)
    made.publish(weights("reversi4", 0, seed=0), "first", None)
    made.publish(weights("reversi4", 5, seed=5), "rejected", MATCH | {"wins": 9, "losses": 279})
    made.publish(weights("reversi4", 12, seed=12), "promoted", MATCH)
    return made
