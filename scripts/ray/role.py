"""A role of a run: how it is started and called, its process, its calls in flight, and whether it can be called now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from reversi import __version__
from reversi.kernels.cache import sources_key
from scripts.ray.restart_policy import RestartPolicy


def code_version() -> str:
    """Return the version of the code of this process, with a hash of its sources."""
    return f"{__version__} ({sources_key()[:12]})"


@dataclass(frozen=True, kw_only=True)
class Process:
    """The process of a role, as reported by itself."""

    pid: int
    node: str
    token: str
    """Tells it from every other process: a process id may be used again."""
    rss_mb: float
    code: str = field(default_factory=code_version)
    """The version of the code that it runs."""

    def is_same(self, other: Process) -> bool:
        """Whether both are reports of one process."""
        return self.token == other.token


class CallKind(Enum):
    """What a call is for, on which the meaning of its answer, or of its failure, depends."""

    CONTACT = auto()
    """The first call after a start, a death or a failure: which process answers?"""
    ROUND = auto()
    """A round of the role's work; its answer shows that the role is up."""
    REQUEST = auto()
    """Anything else, such as asking for a state."""
    MEASUREMENT = auto()
    """The size of its process, beside its work."""


@dataclass(eq=False)
class Call:
    """A call in flight."""

    role: Role
    kind: CallKind
    on_answer: Callable[[Any], None]
    """Receives the answer."""
    made_at: float


@dataclass(eq=False)
class Role:
    """One remote part.  Its methods are all that changes its state.

    Ray restarts its process under the same handle, and the process restores itself.  A role is in contact while its
    process is known and may be called.
    """

    name: str
    start: Callable[[bool], Any]
    """Starts the actor and returns its handle; the argument is whether the newest checkpoint has a state of it."""
    next_round: Callable[[], tuple[Any, ...]]
    """Returns the method of a round and its arguments."""
    on_report: Callable[[Any], None]
    """Receives the answer to a round."""
    restart_policy: RestartPolicy
    """Counts its deaths and decides how long it is not called after one."""
    group: str | None = None
    """Group of an actor; None for the other roles."""
    games: int = 0
    """Games that an actor has in progress at any time."""

    handle: Any = field(default=None, init=False)
    """None before its start and after its end."""
    process: Process | None = field(default=None, init=False)
    """Its process as last reported; None before the first report and after a death."""
    in_contact: bool = field(default=False, init=False)
    up: bool = field(default=False, init=False)
    """Whether it is in contact and has completed a round."""
    was_up: bool = field(default=False, init=False)
    """Whether it has ever been up."""
    resumes: bool = field(default=False, init=False)
    """Whether the newest checkpoint has its state, and it has not been up since."""
    restarts: int = field(default=0, init=False)
    given_up: bool = field(default=False, init=False)
    """Whether it has died too often."""
    failure: Exception | None = field(default=None, init=False)
    """By what its last call failed, if that has not answered since: the cause of a death that is noticed later."""
    leaving: bool = field(default=False, init=False)
    """Whether it is a surplus actor whose current round is its last."""
    cut_off: bool = field(default=False, init=False)
    """Whether this actor could not reach the Redis server when it last delivered games."""
    calls: dict[Any, Call] = field(default_factory=dict, init=False)
    """Its calls in flight, by the references to their answers."""
    last_call_at: float = field(default=0.0, init=False)
    """When the last call was made that is not a measurement."""
    last_measured_at: float = field(default=float("-inf"), init=False)
    """When its last measurement was requested."""
    playing_s: float = field(default=0.0, init=False)
    """Seconds of play in an actor's last round, without waiting for the replay."""
    _contact_at: float | None = field(default=None, init=False)
    """When to ask which process answers; None while that is known or a call asks."""
    _killed: Process | None = field(default=None, init=False)
    """The process that was killed last, which may still answer."""

    @property
    def busy(self) -> bool:
        """Whether it has a call in flight, measurements apart."""
        return any(call.kind is not CallKind.MEASUREMENT for call in self.calls.values())

    @property
    def idle(self) -> bool:
        """Whether it can be called and has no call in flight."""
        return self.in_contact and not self.busy

    @property
    def free(self) -> bool:
        """Whether it is up and idle."""
        return self.up and self.idle

    def waits_for_contact(self, now: float) -> bool:
        """Whether it is time to ask which process answers."""
        return self._contact_at is not None and now >= self._contact_at

    def is_measured(self, now: float, every_s: float) -> bool:
        """Whether its last measurement is younger than `every_s`, or still in flight."""
        pending = any(call.kind is CallKind.MEASUREMENT for call in self.calls.values())
        return pending or now - self.last_measured_at < every_s

    def begin(self, now: float, *, resumes: bool = False) -> None:
        """Start it; `resumes` is whether the newest checkpoint has a state of it."""
        self.handle, self.resumes, self._contact_at = self.start(resumes), resumes, now
        self.restart_policy.started(now)

    def called(self, reference: Any, kind: CallKind, on_answer: Callable[[Any], None], now: float) -> None:
        """Note a call just made."""
        self.calls[reference] = Call(self, kind, on_answer, now)
        if kind is CallKind.MEASUREMENT:
            self.last_measured_at = now
        else:
            self.last_call_at = now
        if kind is CallKind.CONTACT:
            self._contact_at, self.last_measured_at = None, now

    def unanswered_s(self, now: float, waited_until: float = 0.0) -> float:
        """Return the age of the oldest call in flight, without its time before `waited_until`."""
        made = (call.made_at for call in self.calls.values() if call.kind is not CallKind.MEASUREMENT)
        return max((now - max(each, waited_until) for each in made), default=0.0)

    def measured(self, process: Process, now: float, retry_s: float) -> bool:
        """Note which process has answered; return whether that shows a death, as it is another one than before.

        The answer of a process that was killed meanwhile is ignored, and asked for again after `retry_s`.
        """
        if self._killed is not None and self._killed.is_same(process):
            self.lost_contact(now + retry_s)
            return False
        if self.process is not None and not self.process.is_same(process):
            return True
        self.process, self.in_contact, self._contact_at = process, True, None
        return False

    def answered_round(self, now: float) -> bool:
        """Note a completed round; return whether it is the first since its start or since contact was lost."""
        if self.up:
            return False
        self.up = self.was_up = True
        self.failure, self.resumes = None, False
        self.restart_policy.started(now)
        return True

    def played(self, seconds: float, *, delivered: bool) -> None:
        """Note the play of an actor's round, and whether it has delivered games."""
        self.playing_s = seconds
        if delivered:
            self.cut_off = False

    def lost_contact(self, retry_at: float, error: Exception | None = None) -> None:
        """Note that a call or its answer was lost; make no more calls until it is known which process answers."""
        self.failure = error or self.failure
        if self.in_contact or not any(call.kind is CallKind.CONTACT for call in self.calls.values()):
            self.in_contact, self.up, self._contact_at = False, False, retry_at

    def died(self, now: float, successor: Process | None = None) -> float | None:
        """Count a death; return the seconds for which the role is not called, or None if this death was one too many.

        successor  the process that has taken its place, if that has answered already
        """
        pause_s = self.restart_policy.died(now)
        self.restarts += 1
        self.given_up |= pause_s is None
        self._restarted(now + (pause_s or 0.0))
        if successor is not None and not pause_s:
            self.process, self.in_contact, self._contact_at = successor, True, None
        return pause_s

    def killed(self, now: float) -> None:
        """Note that its process was killed on purpose, which is no death."""
        self._restarted(now)

    def cannot_reach_redis(self) -> None:
        """Note that this actor could not reach the server."""
        self.cut_off = True

    def killed_cut_off(self, now: float) -> float:
        """Note that its process was killed as it cannot reach Redis; return the seconds for which it is not called."""
        pause_s = self.restart_policy.cut_off(now)
        self.restarts += 1
        self._restarted(now + pause_s)
        return pause_s

    def leave(self) -> None:
        """Note that its current round is its last."""
        self.leaving = True

    def end(self) -> None:
        """Note its end: its calls are forgotten, and it is never called again."""
        self._clear()
        self.handle, self._contact_at = None, None

    def _restarted(self, contact_at: float) -> None:
        self._killed = self.process or self._killed
        self._clear()
        self._contact_at = contact_at
        self.restart_policy.started(contact_at)

    def _clear(self) -> None:
        self.process, self.in_contact, self.up = None, False, False
        self.calls.clear()
