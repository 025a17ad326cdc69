"""Jobs on a Ray cluster, through its dashboard: submit, find, follow and stop them, and read their runs on the head.

Jobs carry the run's name and folder as metadata, so that they are found by either.  Every refusal of Ray becomes a
one-line error.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import join, quote
from typing import IO, Any, Literal, TypeVar

from reversi.errors import ReversiError, RunError, UnreachableError, UsageError, first_line
from reversi.urls import masked
from scripts.config.cluster import ADDRESS_VARIABLE
from scripts.ray.environment import bypass_proxies, proxy_of, use_token
from scripts.run.exit_record import exit_record_of
from scripts.run.status import RunStatus, read_status

T = TypeVar("T")

AGENT_WAIT_S = 60.0
"""Longest time in seconds that a submission waits for a head that has just started."""

STOP_WAIT_S = 120
"""Seconds before Ray kills a job that is stopping; Ray's default is 3."""

ANSWER_S = 60.0
"""Longest time in seconds for a short command on the head."""

FORGET_S = 10.0
"""Longest time in seconds that a short command without an answer has to end."""

POLL_S = 0.5

JOB_COMMAND = ("python", "-m", "scripts.cli")
"""How a job calls `reversi`: the code that is installed on the nodes, or that was sent with the job."""

IF_RUN = 'if test -f "$0/config.yaml"; then exec "$@"; else echo null; fi'
"""Shell program that runs a command if the folder that it is given first is a run's."""

ENDED = ("succeeded", "stopped", "failed")
State = Literal["pending", "running", "succeeded", "stopped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job that `reversi launch` submitted."""

    id: str
    run: str
    folder: str
    state: State
    started: str | None
    """Time in UTC."""
    ended: str | None
    exit_code: int | None
    message: str
    """Ray's message about it, one line."""

    @property
    def over(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.state in ENDED


class Jobs:
    """The jobs of the cluster at `address`."""

    def __init__(self, address: str | None, token_file: str | None) -> None:
        given = address or os.environ.get(ADDRESS_VARIABLE, "")
        if not given:
            raise UsageError(f"expected a cluster in --address or {ADDRESS_VARIABLE}, as in http://head:8265, got none")
        self.address = given if "://" in given else f"http://{given}"
        bypass_proxies()
        use_token(token_file)  # before Ray is imported, which reads it then
        from ray.job_submission import JobSubmissionClient

        logging.getLogger("ray").setLevel(logging.ERROR)  # or every file that is not sent is a line
        self._client: Any = self._call(lambda: JobSubmissionClient(self.address))

    @property
    def _place(self) -> str:
        """The address, with the proxy that it is reached through."""
        proxy = proxy_of(self.address)
        return f"{self.address} through the proxy {masked(proxy)}, as no_proxy lacks it" if proxy else self.address

    def submit(self, entrypoint: Sequence[str], *, run: str, folder: str, runtime_env: Mapping[str, Any]) -> Job:
        """Start a command on the head as a job of the run; waits for a cluster that has just started."""
        number = f"{run}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        self._submit(entrypoint, number, runtime_env, {"reversi_run": run, "reversi_folder": folder})
        return self.job(number)

    def all(self) -> list[Job]:
        """Return the jobs of runs, oldest first, without the short commands of `run_command`."""
        jobs = self._call(self._client.list_jobs)
        ours = [detail for detail in jobs if "reversi_run" in (detail.metadata or {})]
        return [_job(detail) for detail in sorted(ours, key=lambda detail: detail.start_time or 0)]

    def job(self, id: str) -> Job:
        """Return the current state of a job."""
        return _job(self._call(lambda: self._client.get_job_info(id)))

    def find(self, what: str) -> Job:
        """Return the job with this id, or the newest one of the run with this name or folder."""
        jobs = [job for job in self.all() if what in (job.id, job.run, job.folder)]
        if not jobs:
            known = ", ".join(sorted({job.run for job in self.all()})) or "none"
            raise UsageError(f"expected a job or run of {self.address}, got {what!r}; runs there: {known}")
        return jobs[-1]

    def log(self, id: str) -> str:
        """Return the whole output of a job."""
        text: str = self._call(lambda: self._client.get_job_logs(id))
        return text

    def follow(self, id: str, out: IO[str]) -> Job:
        """Copy a job's output, from its beginning, until it ends; return its final state."""
        written = 0
        while not (job := self.job(id)).over:
            written = self._call(lambda seen=written: asyncio.run(self._tail(id, out, seen)))  # type: ignore[misc]
            time.sleep(POLL_S)
        out.write(self.log(id)[written:])
        out.flush()
        return job

    def stop(self, id: str, timeout_s: float) -> Job:
        """Ask a job to save and end, and wait for it; RunError if it takes longer than `timeout_s`."""
        if not self.job(id).over:
            self._call(lambda: self._client.stop_job(id))
        return self._wait(id, timeout_s, "stop")

    def run_command(self, command: Sequence[str], *, run: str, runtime_env: Mapping[str, Any]) -> str:
        """Run a short command on the head, where the run's folder is; return the last line that it prints."""
        id = f"question-{time.time_ns()}"
        self._submit(command, id, runtime_env)
        try:
            job = self._wait(id, ANSWER_S, "answer")
            # Ray's own line, which names the job, may come after all that a quick command prints
            lines = [line for line in self.log(id).strip().splitlines() if id not in line]
        finally:
            self._forget(id)
        if job.state != "succeeded" or not lines:
            raise RunError(f"the cluster could not look at run {run!r}: {lines[-1] if lines else job.message}")
        return lines[-1]

    def runtime_env(self, id: str) -> dict[str, Any]:
        """Return the runtime environment of a job, for another one that needs the same code."""
        return dict(self._call(lambda: self._client.get_job_info(id)).runtime_env or {})

    def _submit(
        self,
        entrypoint: Sequence[str],
        id: str,
        runtime_env: Mapping[str, Any],
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        deadline = time.monotonic() + AGENT_WAIT_S
        while True:
            try:
                self._call(
                    lambda: self._client.submit_job(
                        entrypoint=f"exec {join(entrypoint)}",
                        submission_id=id,
                        runtime_env=dict(runtime_env),
                        metadata=metadata and dict(metadata),
                    )
                )
                return
            except RunError as error:
                if "No available agent" not in str(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(POLL_S)

    async def _tail(self, id: str, out: IO[str], seen: int) -> int:
        """Write what comes after the first `seen` characters; return how many there were when the connection ended."""
        count = 0
        async for text in self._client.tail_job_logs(id):
            out.write(text[max(0, seen - count) :])
            out.flush()
            count += len(text)
        return max(seen, count)

    def _forget(self, id: str) -> None:
        """Delete the job of a short command, stopped first if it goes on; one that the head keeps does no harm."""
        with contextlib.suppress(ReversiError):
            self.stop(id, FORGET_S)
            self._call(lambda: self._client.delete_job(id))

    def _wait(self, id: str, timeout_s: float, verb: str) -> Job:
        deadline = time.monotonic() + timeout_s
        while not (job := self.job(id)).over:
            if time.monotonic() >= deadline:
                raise RunError(f"job {id} did not {verb} within {timeout_s:g} s; it is {job.state}")
            time.sleep(POLL_S)
        return job

    def _call(self, request: Callable[[], T]) -> T:
        """Return Ray's answer; its refusals are raised as one line, without the pages that follow it."""
        from ray.exceptions import AuthenticationError

        try:
            return request()
        except AuthenticationError as error:
            raise UnreachableError(
                f"the cluster at {self._place} refuses: {_clause(error)}; give its token by --token-file FILE, "
                "RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN"
            ) from error
        except (ConnectionError, OSError) as error:
            raise UnreachableError(
                f"no Ray cluster answers at {self._place}; expected its dashboard, as in http://head:8265"
            ) from error
        except ValueError as error:
            raise UsageError(f"{self._place}: {_clause(error)}") from error
        except RuntimeError as error:
            raise RunError(f"the cluster at {self._place} answers: {_clause(error)}") from error


def run_of(jobs: Jobs, job: Job) -> RunStatus | None:
    """Return the status of a job's run; None if there is no run in its folder.

    The run may not have made the folder yet, or have removed it because nothing had been trained.  RunError if the head
    cannot read it or does not answer in time.
    """
    folder = Path(job.folder)
    if (folder / "config.yaml").is_file():
        return read_status(folder)
    question = ("sh", "-c", IF_RUN, job.folder, *JOB_COMMAND, "status", job.folder, "--json")
    answer = json.loads(jobs.run_command(question, run=job.run, runtime_env=jobs.runtime_env(job.id)))
    if answer is None:
        return None
    return RunStatus(**(answer | {"ended": answer["ended"] and exit_record_of(answer["ended"])}))


def saved_config(jobs: Jobs, folder: str) -> str:
    """Return the text of the configuration of a run in a folder on the head; RunError if there is none."""
    program = "import json, sys; print(json.dumps(open(sys.argv[1], encoding='utf-8').read()))"
    question = ("sh", "-c", IF_RUN, folder, "python", "-c", program, f"{folder}/config.yaml")
    text = json.loads(jobs.run_command(question, run=Path(folder).name, runtime_env={}))
    if not isinstance(text, str):
        raise RunError(f"expected a run's folder, on this machine or on the head, got {folder!r}")
    return text


def launch_command(status: RunStatus, address: str) -> str | None:
    """Return the command that launches a job's run again; None if it trains, or if nothing of it was kept."""
    if status.state == "training" or status.resume_command is None:
        return None
    again = f"reversi launch --address {quote(address)} resume={quote(status.folder)}"
    return " ".join(filter(None, (again, status.more)))


def _job(detail: Any) -> Job:
    metadata = detail.metadata or {}
    state: Any = str(getattr(detail.status, "value", detail.status)).lower()
    return Job(
        id=detail.submission_id,
        run=metadata.get("reversi_run", ""),
        folder=metadata.get("reversi_folder", ""),
        state=state,
        started=_time(detail.start_time),
        ended=_time(detail.end_time),
        exit_code=detail.driver_exit_code,
        message=_clause(detail.message) if detail.message else "",
    )


def _time(milliseconds: int | None) -> str | None:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S}" if milliseconds else None


def _clause(error: object) -> str:
    """Return the first line without the punctuation at its end, to go on with."""
    return first_line(error).rstrip(".:, ")
