"""The actors of a run come and go: as many of each group as were asked for last."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median_low

from scripts.placement import ActorPlace
from scripts.roles import Role


class Crew:
    """Who is an actor of the run: at work, starting, waiting for a node, dead and due again, or leaving."""

    def __init__(self, members: Sequence[Role], hire: Callable[[str, int], Role], asked: Mapping[str, int]) -> None:
        """`hire` makes another member of a group, its number the lowest that is not in use; `asked` is how many of each
        group there shall be."""
        self.members = list(members)
        self.asked = dict(asked)
        self._hire = hire

    @property
    def wanted(self) -> int:
        """Actors that there shall be."""
        return sum(self.asked.values())

    @property
    def usual_s(self) -> float:
        """Seconds that a round of an actor usually takes: the median, 0 before there was one."""
        return median_low([role.took_s for role in self.members if role.took_s] or [0.0])

    def join(self) -> list[Role]:
        """Return the new members that what was asked for needs; nobody has started them yet."""
        staying = Counter(role.group for role in self.members if not role.leaving)
        used = {role.name for role in self.members}
        numbers = (number for number in itertools.count() if f"actor-{number}" not in used)
        new = [
            self._hire(group, next(numbers))
            for group, count in self.asked.items()
            for _ in range(count - staying[group])
        ]
        self.members += new
        return new

    def dismiss(self) -> list[Role]:
        """Mark as leaving, and return, who is one too many: first those that are not up, then the highest numbers."""
        leaving = []
        for group, count in self.asked.items():
            staying = [role for role in self.members if role.group == group and not role.leaving]
            staying.sort(key=lambda role: (role.up, -int(role.name.rpartition("-")[2])))
            leaving += staying[: max(0, len(staying) - count)]
        for role in leaving:
            role.leaving = True
        return leaving

    def gone(self, role: Role) -> None:
        """Strike a member off."""
        self.members.remove(role)


def group_of(actor: ActorPlace) -> str:
    """Return the group that an actor belongs to."""
    return actor.place.role.removeprefix("actors.")


def trimmed(places: Iterable[ActorPlace], most: Mapping[str, int]) -> list[ActorPlace]:
    """Return the first `most` of each group, in their order."""
    seen: Counter[str] = Counter()
    kept = []
    for place in places:
        seen[group_of(place)] += 1
        if seen[group_of(place)] <= most[group_of(place)]:
            kept.append(place)
    return kept
