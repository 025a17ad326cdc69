"""The page beside a run on another machine: under which name it is reached from here, and what is said if it is not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from reversi.errors import ConfigError, UnreachableError
from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.run.watch.beside import page_of, reachable


class Page(BaseHTTPRequestHandler):
    """A page that wants the token `secret`."""

    kind = "application/json"

    def do_GET(self) -> None:
        fits = self.path == "/api/runs" and self.headers["Authorization"] == "Bearer secret"
        self.send_response(200 if fits else 403)
        self.send_header("Content-Type", self.kind)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_is_reached_under_the_name_of_the_dashboard(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # which would get the token
    page = f"http://0.0.0.0:{port}/?token=secret"
    assert reachable(page, ["127.0.0.1"]) == f"http://127.0.0.1:{port}/?token=secret"


def test_a_page_that_does_not_answer_is_one_line_that_says_how_to_reach_it(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnreachableError, match=rf"port {port} of 127.0.0.1 .*forward its port, as by ssh -L {port}:"):
        reachable(f"http://127.0.0.1:{port}/?token=wrong", ["127.0.0.1"])
    monkeypatch.setattr(Page, "kind", "text/html")
    with pytest.raises(UnreachableError, match="another server answers"):
        reachable(f"http://127.0.0.1:{port}/?token=secret", ["127.0.0.1"])


def test_settings_of_the_page_are_checked_before_anything_trains(tmp_path: object) -> None:
    for overrides, words in (
        (["tracking.port=70000"], "tracking.port must be from 0 to 65535, got 70000"),
        (["tracking=tensorboard", "tracking.port=0"], "tracking.port must be null without the tracker jsonl"),
    ):
        with pytest.raises(ConfigError, match=words):
            job_of(compose(overrides))
    there = job_of(compose(["tracking.port=0", "tracking.host=192.0.2.1"])).tracking
    with pytest.raises(ConfigError, match=r"tracking\.host must be an address of this machine, got '192\.0\.2\.1'"):
        page_of(tmp_path, there).__enter__()  # type: ignore[arg-type]
