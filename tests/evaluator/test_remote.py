"""The gate's adapter to the weights actor, without Ray: a champion that was lost there is handed over again."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator import remote
from evaluator.remote import WeightStoreClient
from learner.remote import RemoteWeightStore
from tests.evaluator.gates import weights


class Handle:
    """A handle of a weights actor whose calls are made when they are answered."""

    def __init__(self) -> None:
        self.store = RemoteWeightStore()

    def __getattr__(self, name: str) -> Any:
        handle = self

        class Method:
            def remote(self, *arguments: object) -> Any:
                return lambda: getattr(handle.store, name)(*arguments)

        return Method()


def test_new_weights_actors_get_the_champion_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote.ray, "get", lambda call: call())
    monkeypatch.setattr(remote.ray, "put", lambda data: data)
    handle = Handle()
    client = WeightStoreClient(handle)
    client.keep_champion()
    assert not handle.store.has_champion(), "there is none yet"
    client.promoted(weights(3).to_bytes())
    handle.store = RemoteWeightStore()
    client.keep_champion()
    assert handle.store.fetch("gated", 2) == [weights(3).to_bytes()]
    handle.store.promoted(weights(4).to_bytes())
    client.keep_champion()
    assert handle.store.fetch("gated", 3) == [weights(4).to_bytes()], "a newer one stays"
