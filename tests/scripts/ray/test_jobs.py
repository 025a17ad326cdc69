"""Short commands on a cluster's head: what is said where the head is slow or says nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from reversi.errors import RunError
from scripts.ray import jobs
from scripts.ray.jobs import Jobs


class Client:
    """A head on which every command has the state `state` and prints nothing."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.asked: list[str] = []

    def submit_job(self, **values: Any) -> Any:
        return values["submission_id"]

    def get_job_info(self, id: str) -> Any:
        values = {"metadata": {}, "status": self.state, "submission_id": id, "start_time": 1, "end_time": None}
        return SimpleNamespace(**values, driver_exit_code=None, message="nothing was printed")

    def get_job_logs(self, id: str) -> str:
        return f"Ray names {id}"

    def stop_job(self, id: str) -> None:
        self.asked.append("stop")

    def delete_job(self, id: str) -> None:
        self.asked.append("delete")
        if self.state == "RUNNING":
            raise RuntimeError("it is in a non-terminal state")


def asked(client: Client, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the error of a short command."""
    for name, value in (("ANSWER_S", 0.1), ("FORGET_S", 0.1), ("POLL_S", 0.01)):
        monkeypatch.setattr(jobs, name, value)
    those = Jobs.__new__(Jobs)
    those.address, those._client = "http://head:8265", client
    with pytest.raises(RunError) as error:
        those.run_command(["reversi", "status"], run="night", runtime_env={})
    return str(error.value)


def test_a_head_that_does_not_answer_is_what_the_error_says(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("RUNNING")
    assert "did not answer within 0.1 s" in asked(client, monkeypatch)
    assert client.asked == ["stop"]


def test_a_command_that_prints_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("SUCCEEDED")
    assert asked(client, monkeypatch) == "the cluster could not look at run 'night': nothing was printed"
    assert client.asked == ["delete"]
