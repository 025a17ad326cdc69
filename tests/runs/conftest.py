"""A command line to call, and a registry to call it with."""

from tests.scripts.conftest import registry, reversi  # noqa: F401 - fixtures
