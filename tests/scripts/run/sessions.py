"""A session without parts, and a process that holds one."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.run.folder import RunFolder, is_stopping
from scripts.run.interrupt import Interrupt
from scripts.run.progress import Progress
from scripts.run.session import Session
from tests.runs.training.processes import wait_for

PARTS = {"learner.safetensors": b"weights", "replay.safetensors": b"games"}


def session(folder: RunFolder, *overrides: str) -> Session:
    job = job_of(compose(["cluster=serial", *overrides]))
    return Session(job, folder, Interrupt(), Progress([], io.StringIO()))


DRIVER = """
import io, sys, time
from reversi.errors import RunError
from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.run.exit_record import recorded_exit
from scripts.run.folder import RunFolder
from scripts.run.interrupt import Interrupt
from scripts.run.progress import Progress
from scripts.run.session import Session
path, does = sys.argv[1:]
with Interrupt() as interrupt:
    folder = RunFolder.resume(path)
    interrupt.on_request = folder.note_stop
    session = Session(job_of(compose(["cluster=serial"])), folder, interrupt, Progress([], io.StringIO()))
    with recorded_exit(folder, interrupt) as recorder:
        session.begin()
        print("held", flush=True)
        while not interrupt.requested:
            time.sleep(0.01)
        if does == "hangs":
            time.sleep(60)
        if does == "waits":
            sys.stdin.readline()
        if does == "fails":
            raise RunError("no room")
        time.sleep(1)  # a save takes its time
        session.save({}, at_end=True)
        recorder.record("stopped")
    folder.close()
"""
"""A run that trains nothing until it is told to end: the real folder, signals, checkpoint and exit record."""


def driver(run: Path, does: str) -> subprocess.Popen[str]:
    """Start `DRIVER` and wait until it holds the run.

    Told to end it `saves`, `fails`, `hangs`, or `waits` for a line of standard input before it saves.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, run, does],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def wait_until_stopping(run: Path) -> None:
    """Wait until the process that holds a run has noted that it is told to end."""
    wait_for(lambda: is_stopping(run), 60)
