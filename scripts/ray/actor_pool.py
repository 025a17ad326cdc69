"""The roles of a run; its actors are as many of each group as the target says, and come and go while the run trains."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from scripts.ray.placement import ActorPlace
from scripts.ray.role import Role


class ActorPool:
    """The actors of a run, whatever their state: working, starting, waiting for a node, about to restart, leaving."""

    def __init__(
        self, members: Sequence[Role], make_role: Callable[[str, int], Role], target: Mapping[str, int]
    ) -> None:
        """Start with `members`.

        make_role  makes another actor of a group (its name) with a number
        target     number of actors to have, by group
        """
        self.members = list(members)
        self.target = dict(target)
        self._make_role = make_role

    @property
    def wanted(self) -> int:
        """Number of actors to have, over all groups."""
        return sum(self.target.values())

    @property
    def median_playing_s(self) -> float:
        """Median seconds of play in an actor's last round; 0 before the first one."""
        return median_low([role.playing_s for role in self.members if role.playing_s] or [0.0])

    def grow(self) -> list[Role]:
        """Add the actors that the target lacks and return them, not started yet; they take the lowest free numbers."""
        staying = Counter(role.group for role in self.members if not role.leaving)
        used = {role.name for role in self.members}
        numbers = (number for number in itertools.count() if f"actor-{number}" not in used)
        new = [
            self._make_role(group, next(numbers))
            for group, count in self.target.items()
            for _ in range(count - staying[group])
        ]
        self.members += new
        return new

    def shrink(self) -> list[Role]:
        """Mark the surplus actors as leaving and return them: those not up first, then the highest numbers."""
        leaving = []
        for group, count in self.target.items():
            staying = [role for role in self.members if role.group == group and not role.leaving]
            staying.sort(key=lambda role: (role.up, -int(role.name.rpartition("-")[2])))
            leaving += staying[: max(0, len(staying) - count)]
        for role in leaving:
            role.leave()
        return leaving

    def remove(self, role: Role) -> None:
        """Remove an actor that has left."""
        self.members.remove(role)


@dataclass(frozen=True)
class Parts:
    """The roles of a run."""

    learner: Role
    gate: Role
    actors: ActorPool
    replay: Role
    weights: Role
    stateless: bool
    """Whether resumed actors begin new games, under new producer names, instead of restoring a state: over Redis."""

    @property
    def all(self) -> tuple[Role, ...]:
        """Every role."""
        return (self.learner, self.gate, *self.actors.members, self.replay, self.weights)


def group_of(actor: ActorPlace) -> str:
    """Return the group that an actor belongs to."""
    return actor.place.role.removeprefix("actors.")


def trimmed(places: Iterable[ActorPlace], most: Mapping[str, int]) -> list[ActorPlace]:
    """Return the first `most` places of each group, in their order."""
    counts: Counter[str] = Counter()
    first = []
    for place in places:
        counts[group_of(place)] += 1
        if counts[group_of(place)] <= most[group_of(place)]:
            first.append(place)
    return first
