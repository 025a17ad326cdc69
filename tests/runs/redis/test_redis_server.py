"""Where Redis is: what URLs are understood, who is let in, and that no secret shows."""

from __future__ import annotations

import pickle
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from learner.replay.redis.embedded import server_of
from learner.replay.redis.server import PASSWORD_VARIABLE, RedisServer
from reversi.errors import ConfigError, UnreachableError
from reversi.urls import masked
from tests.configs import redis_config
from tests.runs.redis.redis_setup import batch, embedded, fresh_key, opened, until

SECRET = "corn+flakes 7"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (
            "http://host:6379",
            "must begin with one of redis://, rediss://, unix://, embedded://, got 'http://host:6379'",
        ),
        ("", "must begin with one of"),
        ("redis://", "must name a host"),
        ("unix://", "must name a socket"),
        ("embedded://here", "must be embedded:// and no more"),
        ("redis://host:sixty", "must be an address such as"),
        ("redis://host:99999", "must be an address such as"),
        ("redis://[::1:6379", "must be an address such as"),
        ("redis://host?socket_timeout=0", "may say db, ssl_ca_certs, .*, got 'socket_timeout'"),
        ("redis://u:flakes@host:sixty", r"must be an address .*, got 'redis://u:\*\*\*@host:sixty'"),
    ],
)
def test_a_wrong_url_is_one_line(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"^replay.url {words}") as error:
        RedisServer.of(url)
    assert "\n" not in str(error.value)
    assert "flakes" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://user@host/0", "redis://user@host/0"),
        ("redis://user:secret@host/0", "redis://user:***@host/0"),
        ("redis://:sec@ret@host", "redis://:***@host"),
        ("redis://:se/cr?et@host:6379/0", "redis://:***@host:6379/0"),
        ("rediss://host/0?ssl_keyfile=client.key", "rediss://host/0?ssl_keyfile=client.key"),
        ("unix:///run/r.sock?password=secret", "unix:///run/r.sock?password=***"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_a_configuration_holds_no_password() -> None:
    for url in ("redis://user:secret@host", "redis://host?password=secret"):
        with pytest.raises(ConfigError, match=PASSWORD_VARIABLE) as error:
            redis_config(url=url)
        assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shards", 0), ("backlog_batches", 0), ("memory_mb", 1), ("takeover_s", 0.0), ("patience_s", float("inf"))],
)
def test_a_number_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"^replay\.{name} must be .*, got {value}$"):
        replace(redis_config(), **{name: value})


def test_user_and_password_come_from_the_environment_and_stay_out_of_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with embedded(tmp_path) as running:
        running.server.client().acl_setuser(
            "learner", enabled=True, passwords=[f"+{SECRET}"], keys=["*"], categories=["+@all"]
        )
        running.server.client().config_set("requirepass", "another")
        url = running.server.url.replace("unix://", "unix://learner@")
        for password in ("", f"not {SECRET}"):
            monkeypatch.setenv(PASSWORD_VARIABLE, password)
            with pytest.raises(UnreachableError, match=f"let in, got .*{PASSWORD_VARIABLE}$") as error:
                RedisServer.of(url).checked_client()
            assert SECRET not in str(error.value)
        monkeypatch.setenv(PASSWORD_VARIABLE, SECRET)
        server = RedisServer.of(url)
        with opened(server, fresh_key()) as replay:
            monkeypatch.delenv(PASSWORD_VARIABLE)
            sink = pickle.loads(pickle.dumps(replay.sink()))  # as it travels to an actor
            sink.push(batch(0))
            until(lambda: replay.report().games_total == 2)
        assert SECRET not in repr(server) + str(server) + repr(sink) + caplog.text


def test_a_replica_that_is_read_only_is_refused_at_the_start(tmp_path: Path) -> None:
    with embedded(tmp_path) as running:
        running.server.client().execute_command("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(ConfigError, match="must be a server that can be written, got a replica"):
            running.server.checked_client()


def test_a_server_that_forgets_when_it_is_full_is_refused(tmp_path: Path) -> None:
    with embedded(tmp_path) as running:
        running.server.client().config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(ConfigError, match="must have the maxmemory-policy noeviction, got 'allkeys-lru'"):
            running.server.checked_client()


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """(port, certificate) of a server that speaks TLS alone."""
    program, openssl = shutil.which("redis-server"), shutil.which("openssl")
    if program is None or openssl is None:
        pytest.skip("needs redis-server with TLS, and openssl")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    request = (openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    subprocess.run([*request, "-keyout", key, "-out", certificate, "-days", "1", *subject], check=True, stderr=-3)
    tls = ("--tls-port", str(port), "--tls-cert-file", str(certificate), "--tls-key-file", str(key))
    plain = ("--port", "0", "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path), "--tls-auth-clients", "no")
    with subprocess.Popen([program, *plain, *tls, "--tls-ca-cert-file", str(certificate)], stdout=-3) as process:
        try:
            time.sleep(0.2)
            yield port, certificate
        finally:
            process.kill()


def test_tls_is_spoken_and_the_certificate_checked(tls_server: tuple[int, Path]) -> None:
    port, certificate = tls_server
    server = RedisServer.of(f"rediss://localhost:{port}/0?ssl_ca_certs={certificate}")
    until(server.answers)
    with opened(server, fresh_key()) as replay:
        assert replay.add(batch(0)).games == 2
    with pytest.raises(UnreachableError, match=r"(?i)certificate"):
        RedisServer.of(f"rediss://localhost:{port}/0").checked_client()


def test_the_server_of_a_configuration_runs_while_it_is_wanted(tmp_path: Path) -> None:
    with server_of(redis_config(memory_mb=16, append_only=False), tmp_path) as server:
        assert server.answers()
    assert not server.answers()
    with server_of(redis_config(url="redis://host:1234/2"), tmp_path) as named:
        assert named.name == "redis://host:1234/2"


def test_a_server_that_is_away_for_the_moment_is_waited_for_by_who_has_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Client:
        def __init__(self) -> None:
            self.asked = 0

        def info(self, section: str) -> dict[str, Any]:
            self.asked += 1
            if self.asked <= 3:
                raise redis.exceptions.ConnectionError("refused")
            return {"maxmemory": 0}

    client = Client()
    monkeypatch.setattr(RedisServer, "client", lambda self: client)
    server = RedisServer(url="unix:///nowhere")
    with pytest.raises(UnreachableError, match="expected an answer, got 'refused'"):
        server.checked_client()
    assert client.asked == 1
    assert server.checked_client(patience_s=10) is client
    assert client.asked == 5  # memory and role at last
