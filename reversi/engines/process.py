"""`EngineProcess`: a program whose standard input and output are lines, with deadlines, and which never outlives us.

Its standard error is read along, since a program that fills that pipe would stop for ever, and its last line is kept
for messages.  Nothing is read while nobody waits: a flood stays in the program's pipes, and memory is bounded.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Sequence

from reversi.errors import EngineError

LONGEST_LINE = 65_536
"""Bytes without an end of line after which a program is taken to write something else than lines."""

PATIENCE_S = 1.0
"""From asking a program to end until it is told, and from then until it is killed."""


class EngineProcess:
    """A running program; a lone session, so that Ctrl-C reaches us alone and its own children end with it."""

    def __init__(self, command: Sequence[str], farewell: str) -> None:
        """Start `command` (no shell); `farewell` is the line that asks it to end.  Raises EngineError if it cannot."""
        try:
            process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(f"{command[0]!r} cannot be started: {error.strerror or error}") from error
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._stdin = process, process.stdin
        self._stdout, self._stderr = process.stdout.fileno(), process.stderr.fileno()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._lines: deque[str] = deque()
        self._rest = b""
        self._complaint = b""
        # Also when this object is forgotten, and at the latest when this process ends, Ctrl-C and errors included.
        self._end = weakref.finalize(self, _end, process, self._selector, farewell.encode() + b"\n")

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._process.pid

    def send(self, line: str) -> None:
        """Write one line.  It cannot block: between two answers far less is written than a pipe holds."""
        try:
            self._stdin.write(line.encode() + b"\n")
        except OSError as error:
            raise EngineError(self._last_words()) from error

    def ask(self, question: str, answers: str | tuple[str, ...], deadline: float) -> str:
        """Send a line and return the first one that begins like an answer (given in lower case; any case will do).

        Blank lines, and what a program writes without being asked, are passed over.
        """
        chatter = ""
        try:
            self.send(question)
            while not (line := self.receive(deadline)).lower().startswith(answers):
                chatter = line or chatter
        except EngineError as error:
            wrote = f" (it wrote {chatter[:80]!r})" if chatter else ""
            raise EngineError(f"expected an answer to {question!r}, but {error}{wrote}") from error
        return line

    def receive(self, deadline: float) -> str:
        """Return the next line, stripped, or raise EngineError at `deadline` (`time.monotonic`) or if it has ended."""
        if time.monotonic() >= deadline:  # also in the midst of a flood of lines
            raise EngineError("it took too long")
        while not self._lines:
            if self._stdout not in self._selector.get_map():
                raise EngineError(self._last_words())
            if (left := deadline - time.monotonic()) <= 0:
                raise EngineError(f"it took too long{self._complained()}")
            for key, _ in self._selector.select(left):
                self._read(key.fd)
        return self._lines.popleft()

    def stop(self) -> None:
        """Ask the program to end, give it time for that, then end it."""
        self._end()

    def _read(self, pipe: int) -> None:
        """Take what a pipe holds."""
        data = os.read(pipe, 65_536)
        if pipe == self._stderr:
            self._complaint = (self._complaint + data)[-500:]
        else:
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(line.decode(errors="replace").strip() for line in lines)
            if len(self._rest) > LONGEST_LINE:
                raise EngineError(f"it wrote no line but {self._rest[:40].decode(errors='replace')!r} and so on")
        if not data:
            self._selector.unregister(pipe)

    def _last_words(self) -> str:
        """Say how a program ended that closed its output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE_S)
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended with {'signal' if code < 0 else 'exit code'} {abs(code)}"
        while self._stderr in self._selector.get_map() and self._selector.select(0):
            self._read(self._stderr)
        return f"it {how}{self._complained()}"

    def _complained(self) -> str:
        lines = self._complaint.decode(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f" and complained {said!r}" if said else ""


def _end(process: subprocess.Popen[bytes], selector: selectors.BaseSelector, farewell: bytes) -> None:
    """End a program: by its farewell, else by SIGTERM, else by SIGKILL, which all that it started gets in any case."""
    assert process.stdin is not None
    for ending in (None, signal.SIGTERM, signal.SIGKILL):
        if ending is None:
            with contextlib.suppress(OSError):
                process.stdin.write(farewell)
                process.stdin.close()
        else:
            _signal(process, ending)
        if _has_ended(process, selector):
            break
    _signal(process, signal.SIGKILL)
    selector.close()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _has_ended(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> bool:
    """Wait for a program to end, for a while, and let it write what nobody reads any more."""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        for key, _ in selector.select(0.01):
            if not os.read(key.fd, 65_536):
                selector.unregister(key.fd)
    return process.returncode is not None


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a program and all that it started, if any of them is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
