"""`EngineProcess`: a program with line-based standard input and output and deadlines, ended with this process.

Its standard error is read too, since a program that fills that pipe would block forever; the last line is kept for
messages.  Nothing is read except while waiting for output: a flood stays in the pipes, so memory is bounded.
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
"""Bytes without a newline after which a program's output is an error."""

PATIENCE_S = 1.0
"""Time from `quit` to SIGTERM, and from SIGTERM to SIGKILL."""


class EngineProcess:
    """A running program in its own session, so that Ctrl-C does not reach it and its children end with it."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start `command` (no shell).  Raises EngineError if it cannot start."""
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
        # Also runs when this object is garbage-collected and when this process ends, by Ctrl-C or an error too.
        self._end = weakref.finalize(self, _end, process, self._selector)

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._process.pid

    def send(self, line: str) -> None:
        """Write one line.  It does not block: between two answers far less is written than a pipe's capacity."""
        try:
            self._stdin.write(line.encode() + b"\n")
        except OSError as error:
            raise EngineError(self._last_words()) from error

    def ask(self, question: str, answers: str | tuple[str, ...], deadline: float) -> str:
        """Send a line and return the first one that begins with one of `answers` (in lower case; any case matches).

        Blank and unsolicited lines are ignored.
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
        """Return the next line, stripped; EngineError at `deadline` (`time.monotonic`) or if the output has ended."""
        if time.monotonic() >= deadline:  # also during a flood of lines
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
        """End the program, by request first and then by force."""
        self._end()

    def _read(self, pipe: int) -> None:
        """Read the available bytes of a pipe."""
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
        """Return a message about how a program that closed its output has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE_S)
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended with {'signal' if code < 0 else 'exit code'} {abs(code)}"
        while self._stderr in self._selector.get_map() and self._selector.select(0):
            self._read(self._stderr)
        return f"it {how}{self._complained()}"

    def _complained(self) -> str:
        lines = self._complaint.decode(errors="replace").split("\n")
        complaint = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f" and complained {complaint!r}" if complaint else ""


def _end(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> None:
    """End a program by `quit`, else SIGTERM, else SIGKILL; its children get SIGKILL in any case."""
    assert process.stdin is not None
    for ending in (None, signal.SIGTERM, signal.SIGKILL):
        if ending is None:
            with contextlib.suppress(OSError):
                process.stdin.write(b"quit\n")
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
    """Wait up to PATIENCE_S for a program to end, and discard its output meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        for key, _ in selector.select(0.01):
            if not os.read(key.fd, 65_536):
                selector.unregister(key.fd)
    return process.returncode is not None


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a program and its children, if any is still running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
