"""Who joins and who leaves, without Ray: roles that are only written down."""

from __future__ import annotations

from typing import Any

from scripts.crew import Crew
from scripts.roles import Role
from scripts.supervision import Lives


def role(group: str, number: int, up: bool = True) -> Role:
    made = Role(f"actor-{number}", lambda: None, lambda _: None, lambda _: None, Lives(3), group=group)
    made.up = up
    return made


def crew(*members: Role, **asked: int) -> Crew:
    return Crew(members, lambda group, number: role(group, number, up=False), asked)


def names(roles: list[Role]) -> list[Any]:
    return [(each.group, each.name) for each in roles]


def test_as_many_join_as_are_missing_under_numbers_that_are_free() -> None:
    grown = crew(role("cpu", 0), role("gpu", 1), role("cpu", 3), cpu=4, gpu=2)
    assert names(grown.join()) == [("cpu", "actor-2"), ("cpu", "actor-4"), ("gpu", "actor-5")]
    assert grown.join() == []
    assert (len(grown.members), grown.wanted) == (6, 6)


def test_who_is_not_up_leaves_first_then_the_highest_number() -> None:
    shrunk = crew(role("cpu", 0, up=False), role("cpu", 1), role("cpu", 2), role("gpu", 3), role("cpu", 10), cpu=4)
    assert shrunk.dismiss() == []
    shrunk.asked["cpu"] = 2
    assert names(shrunk.dismiss()) == [("cpu", "actor-0"), ("cpu", "actor-10")]
    assert shrunk.dismiss() == [], "they are leaving already"
    shrunk.asked["cpu"] = 1
    assert names(shrunk.dismiss()) == [("cpu", "actor-2")]


def test_who_is_leaving_keeps_its_number_and_does_not_count() -> None:
    crowd = crew(role("cpu", 0), role("cpu", 1), cpu=2)
    crowd.asked["cpu"] = 1
    (leaving,) = crowd.dismiss()
    crowd.asked["cpu"] = 2
    assert names(crowd.join()) == [("cpu", "actor-2")]
    crowd.gone(leaving)
    assert [each.name for each in crowd.members] == ["actor-0", "actor-2"]
    crowd.asked["cpu"] = 3
    assert names(crowd.join()) == [("cpu", "actor-1")]


def test_a_round_usually_takes_what_most_take() -> None:
    timed = crew(*(role("cpu", number) for number in range(5)), cpu=5)
    assert timed.usual_s == 0.0
    for member, took_s in zip(timed.members, (1.0, 1.2, 0.9, 60.0, 0.0), strict=True):
        member.took_s = took_s
    assert timed.usual_s == 1.0, "one slow actor, and one that has not answered yet, change nothing"
