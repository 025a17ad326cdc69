"""Who joins and who leaves, without Ray: roles that are only written down."""

from __future__ import annotations

from typing import Any

from scripts.ray.actor_pool import ActorPool
from scripts.ray.restart_policy import RestartPolicy
from scripts.ray.role import Role


def role(group: str, number: int, up: bool = True) -> Role:
    made = Role(f"actor-{number}", lambda _: None, lambda: ("round",), lambda _: None, RestartPolicy(3), group=group)
    made.up = up
    return made


def pool(*members: Role, **target: int) -> ActorPool:
    return ActorPool(members, lambda group, number: role(group, number, up=False), target)


def names(roles: list[Role]) -> list[Any]:
    return [(each.group, each.name) for each in roles]


def test_as_many_join_as_are_missing_under_numbers_that_are_free() -> None:
    grown = pool(role("cpu", 0), role("gpu", 1), role("cpu", 3), cpu=4, gpu=2)
    assert names(grown.grow()) == [("cpu", "actor-2"), ("cpu", "actor-4"), ("gpu", "actor-5")]
    assert grown.grow() == []
    assert (len(grown.members), grown.wanted) == (6, 6)


def test_who_is_not_up_leaves_first_then_the_highest_number() -> None:
    shrunk = pool(role("cpu", 0, up=False), role("cpu", 1), role("cpu", 2), role("gpu", 3), role("cpu", 10), cpu=4)
    assert shrunk.shrink() == []
    shrunk.target["cpu"] = 2
    assert names(shrunk.shrink()) == [("cpu", "actor-0"), ("cpu", "actor-10")]
    assert shrunk.shrink() == [], "they are leaving already"
    shrunk.target["cpu"] = 1
    assert names(shrunk.shrink()) == [("cpu", "actor-2")]


def test_who_is_leaving_keeps_its_number_and_does_not_count() -> None:
    changed = pool(role("cpu", 0), role("cpu", 1), cpu=2)
    changed.target["cpu"] = 1
    (leaving,) = changed.shrink()
    changed.target["cpu"] = 2
    assert names(changed.grow()) == [("cpu", "actor-2")]
    changed.remove(leaving)
    assert [each.name for each in changed.members] == ["actor-0", "actor-2"]
    changed.target["cpu"] = 3
    assert names(changed.grow()) == [("cpu", "actor-1")]


def test_a_round_usually_takes_what_most_take() -> None:
    timed = pool(*(role("cpu", number) for number in range(5)), cpu=5)
    assert timed.median_playing_s == 0.0
    for member, playing_s in zip(timed.members, (1.0, 1.2, 0.9, 60.0, 0.0), strict=True):
        member.playing_s = playing_s
    assert timed.median_playing_s == 1.0, "one slow actor, and one that has not answered yet, change nothing"
