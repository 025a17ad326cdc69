"""What stands before every page: wrong, half and too many requests are answered or closed, and the log stays small."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable

import pytest

from reversi.frontends.web import site
from reversi.frontends.web.server import WebServer
from reversi.frontends.web.site import HEADERS, serve
from tests.reversi.frontends.web_pages import selection_of

Visit = Callable[[tuple[str, int]], None]

HOST = "Host: 127.0.0.1\r\n"
JSON = "Content-Type: application/json\r\n"


def visited(visit: Visit) -> None:
    """Run a server for `visit`, which gets its address in a thread of its own."""
    failed: list[BaseException] = []

    def run(address: tuple[str, int]) -> None:
        try:
            visit(address)
        except BaseException as error:  # raised below
            failed.append(error)
        finally:
            signal.raise_signal(signal.SIGTERM)

    def ready(url: str) -> None:
        host, port = url.removeprefix("http://").rstrip("/").split(":")
        threading.Thread(target=run, args=((host, int(port)),)).start()

    app = WebServer(selection_of(), "127.0.0.1").application()
    asyncio.run(asyncio.wait_for(serve(app, "127.0.0.1", 0, ready), 100))
    if failed:
        raise failed[0]


def answer_to(address: tuple[str, int], request: str) -> str:
    """Return what comes until the server closes the connection."""
    with socket.create_connection(address, timeout=100) as line:
        line.sendall(request.encode("latin-1"))
        return b"".join(iter(lambda: line.recv(65536), b"")).decode("latin-1")


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET /", "Host: [nonsense\r\n", 400),
        ("GET /", "Host: a:b:c\r\n", 400),
        ("GET /", "Host: 127.0.0.1:99999999\r\n", 400),
        ("GET /static/" + "a" * 5000, "Host: 127.0.0.1\r\n", 404),
        ("GET /static/%00", "Host: 127.0.0.1\r\n", 404),
        ("POST /api/game", f"Host: 127.0.0.1\r\n{JSON}Content-Encoding: gzip\r\nContent-Length: 3\r\n", 400),
        (
            "POST /api/game",
            f"{HOST}{JSON[:-2]}; charset=idna\r\nContent-Length: 3\r\n",
            400,
        ),
        (
            "POST /api/game",
            f"{HOST}{JSON[:-2]}; charset=zip\r\nContent-Length: 3\r\n",
            400,
        ),
    ],
)
def test_a_request_that_cannot_be_read_is_the_askers_fault(
    request_line: str, headers: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    def visit(address: tuple[str, int]) -> None:
        body = "abc" if "Length" in headers else ""
        answer = answer_to(address, f"{request_line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n{body}")
        assert int(answer.split()[1]) in (status, 403), answer
        assert answer.split()[1] != "500"
        for name, value in HEADERS.items():
            assert f"{name}: {value}" in answer

    visited(visit)
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "part",
    ["", "GET / HTTP/1.1\r\nHost:", f"POST /api/game HTTP/1.1\r\nHost: 127.0.0.1\r\n{JSON}Content-Length: 9\r\n\r\n{{"],
)
def test_half_a_request_is_not_waited_for(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "REQUEST_S", 0.2)
    monkeypatch.setattr("reversi.frontends.web.server.REQUEST_S", 0.2)

    def visit(address: tuple[str, int]) -> None:
        assert answer_to(address, part)[:12] in ("", "HTTP/1.1 408")

    visited(visit)


def test_more_connections_than_the_server_takes_are_closed_and_the_log_stays_small(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(site, "MOST_SOCKETS", 2)

    def visit(address: tuple[str, int]) -> None:
        kept = [socket.create_connection(address, timeout=100) for _ in range(2)]
        for line in kept:
            line.sendall(b"GET /api/info HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert line.recv(65536).startswith(b"HTTP/1.1 200")
        assert [answer_to(address, "") for _ in range(50)] == [""] * 50
        for line in kept:
            line.sendall(b"GET /api/info HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert line.recv(65536).startswith(b"HTTP/1.1 200")
            line.close()

    visited(visit)
    assert caplog.text.count("a connection is closed") <= 10


def test_a_line_of_one_kind_is_logged_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr("reversi.frontends.web.site.time.monotonic", lambda: now_s)
    once = site.OnceASecond()

    def passes(text: str) -> bool:
        return once.filter(logging.LogRecord("aiohttp.server", logging.ERROR, "", 0, text, (), None))

    assert [passes("one"), passes("one"), passes("two")] == [True, False, True]
    now_s = 1.5
    assert passes("one")
