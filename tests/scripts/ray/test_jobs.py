"""Short commands on a cluster's head: what is said where the head is slow or says nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from reversi.errors import ReversiError, RunError, UnreachableError
from scripts.ray import jobs
from scripts.ray.environment import bypass_proxies, proxy_of
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


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """A proxy that refuses everything, in the environment; yields its address and the requests that it got."""
    requests: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(f"{self.path} {self.headers}")
            self.send_error(403)

        def log_message(self, format: str, *values: Any) -> None: ...

    for name in (*PROXIES, *map(str.upper, PROXIES)):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{server.server_port}")
    yield f"http://***@127.0.0.1:{server.server_port}", requests
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_reached_without_a_proxy(host: str, proxy: tuple[str, list[str]]) -> None:
    with pytest.raises(UnreachableError) as error:
        Jobs(f"http://{host}:1", None)
    assert str(error.value).startswith(f"no Ray cluster answers at http://{host}:1; expected its dashboard")
    assert proxy[1] == []


def test_another_machine_is_reached_through_the_proxy_which_the_error_names(proxy: tuple[str, list[str]]) -> None:
    address, requests = proxy
    with pytest.raises(ReversiError) as error:
        Jobs("http://head.invalid:8265", None)
    assert f"http://head.invalid:8265 through the proxy {address}, as no_proxy lacks it" in str(error.value)
    assert "secret" not in str(error.value)
    assert len(requests) == 1


def test_hosts_that_need_no_proxy_stay_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "head,.example")
    monkeypatch.setenv("no_proxy", "head")
    bypass_proxies()
    assert {os.environ[name] for name in ("no_proxy", "NO_PROXY")} == {"head,.example,127.0.0.1,localhost,::1"}
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    assert proxy_of("http://head:8265") is None
    assert proxy_of("http://10.0.0.1:8265") == "http://proxy:3128"
