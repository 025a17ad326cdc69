"""What lies outside: servers that never answer, never end or ignore what they are asked, and drivers that raise."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reversi.errors import ReversiError, UnreachableError
from reversi.model import outside
from reversi.model.folder import LISTING_BYTES, Folder
from reversi.model.outside import in_time, links_of
from reversi.model.registry import Registry

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def serving(answer: Answer, folder: Path | None = None) -> Iterator[str]:
    """A web server on this machine whose every request gets `answer`; with a folder, its files without one."""
    ended = threading.Event()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=folder)  # type: ignore[arg-type]

        def do_GET(self) -> None:
            if folder is not None:
                answer(self)
                super().do_GET()
                return
            with contextlib.suppress(OSError):
                answer(self)
            ended.wait(0 if self.close_connection else 10)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/models"
    finally:
        ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


def never(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = False


def drips(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    with contextlib.suppress(OSError):
        while True:
            request.wfile.write(b" ")
            time.sleep(0.02)


def endless(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "text/html")
    request.end_headers()
    with contextlib.suppress(OSError):
        while True:
            request.wfile.write(b'<a href="000012/">x</a>' * 10_000)


@pytest.mark.parametrize("answer", [never, drips])
def test_a_server_that_does_not_answer_in_time_is_unreachable(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "ANSWER_S", 0.3)
    monkeypatch.setattr(outside, "SLOWEST_BYTES_PER_S", 1 << 20)
    with serving(answer) as url, pytest.raises(UnreachableError, match=r"cannot reach http://.*: expected an answer"):
        Registry(url).models()


def test_the_deadline_of_an_answer_leaves_room_for_exit_code_3_within_30_s() -> None:
    assert outside.ANSWER_S <= 20.0


def test_an_endless_listing_and_an_endless_file_are_read_up_to_their_bounds() -> None:
    with serving(endless) as url:
        with pytest.raises(UnreachableError, match=rf"expected a listing of at most {LISTING_BYTES} bytes"):
            Registry(url).models()
        assert len(Folder(url).read("gated.json", 1000) or b"") == 1001


def test_a_registry_is_read_over_the_web_with_one_request_a_file(local: Registry) -> None:
    asked: list[str] = []

    def count(request: BaseHTTPRequestHandler) -> None:
        assert "Range" not in request.headers, "servers may ignore ranges, as this one does"
        asked.append(request.path)

    root = Path(local.url)
    with serving(count, root.parent) as url:
        web = Registry(url.replace("/models", f"/{root.name}"))
        assert [info.version for info in web.models()] == [0, 5, 12]
        asked.clear()
        assert web.load(web.gated()).version == 12
        assert len(asked) == 3
        assert not Folder(url + "-nowhere").exists()


@pytest.mark.parametrize(
    "url",
    [
        *("zip://", "tar://x", "reference://x", "zip://a::/nowhere.zip", "dir://", "filecache://x", "data://x"),
        *("github://x", "generic://x", "async_wrapper://x", "http://[::1/x", "http://127.0.0.1:99999/", "s3://"),
        *("gist://x", "jupyter://x", "dbfs://x", "libarchive://x", "a::b::c", "::", "\0", "memory://x", "smb://x"),
        *("zip://::zip://", "tar::zip://", "blockcache::zip://x", "git://x", "ftp://127.0.0.1:9/x", "local://\ud800"),
    ],
)
def test_every_url_is_a_registry_or_one_line(url: str) -> None:
    with pytest.raises(ReversiError) as error:
        Registry(url).gated()
    assert len(str(error.value).splitlines()) == 1


def test_what_an_asker_raises_and_returns_comes_through() -> None:
    assert in_time(lambda _: 3) == 3
    with pytest.raises(KeyError):
        in_time(lambda _: {}["x"])


def test_links_are_names_and_nothing_else() -> None:
    page = b"""<a href="000012/">a</a> <A HREF='/x/000013?sort=1'>b</A> <a href=../>up</a> <a href="#">.</a> %"""
    assert links_of(page) == ["000012", "000013"]
