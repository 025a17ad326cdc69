"""Moves and analyses that pages ask of the server: in steps, by turns, taken back, and by newer models."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType

from reversi.analysis.analyzer import Analysis, Limit, MoveAnalysis, SearchAnalyzer
from reversi.frontends.web.selection import KEPT, Opponent, Selection
from reversi.frontends.web.thinker import CROWD, STEPS, is_shortened, shared
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.search.signature import HashEvaluator
from tests.reversi.frontends.stubs import FirstMove, ThinksUntilStopped
from tests.reversi.frontends.web_pages import GAME, Page, answers_of, ask, selection_of


def test_an_opponent_chooses_within_its_limit_and_a_forced_move_at_once() -> None:
    opponent = FirstMove(GAME)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            first, last = await answers_of(line, {"id": 1, "do": "choose", "opponent": "first", "moves": []})
            assert first["analysis"]["moves"][0]["move"] == "b1"
            assert last == {"id": 1, "final": True}
            assert opponent.limits == [Limit(7)]
            forced = {"id": 2, "do": "choose", "opponent": "first", "start": "-XOXOOOO-XOOXOOO X"}
            assert (await answers_of(line, forced))[0]["analysis"]["moves"][0]["move"] == "pass"
            assert opponent.limits == [Limit(7)]

    ask(test, selection_of(opponent=opponent))


def test_an_analysis_grows_step_by_step() -> None:
    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            *found, last = await answers_of(line, {"id": 5, "do": "analyse", "moves": ["b1"]})
            nodes = [each["analysis"]["nodes"] for each in found]
            assert nodes[0] == 1 + STEPS[0] < nodes[1] < STEPS[1]  # there it has proven the result of every move
            assert [all(move["certain"] for move in each["analysis"]["moves"]) for each in found] == [False, True]
            assert last == {"id": 5, "final": True}

    analyzer = SearchAnalyzer("hash", GAME, HashEvaluator(GAME), 20)
    analyzer.warm_up()  # the first search may compile kernels, and a step that takes long is the last
    ask(test, selection_of(analyzer))


def test_a_review_looks_at_every_unfinished_position_once() -> None:
    analyzer = Counting()

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            game = {"start": "-XOXOOOO-XOOXOOO X", "moves": ["pass", "a1", "pass", "a3"]}
            *found, whole, _ = await answers_of(line, {"id": 1, "do": "review", **game})
            assert [each["ply"] for each in found] == [3, 2, 1, 0]
            assert [each["analysis"]["moves"][0]["move"] for each in found] == game["moves"][::-1]
            assert [each["move"]["ply"] for each in found] == [4, 3, 2, 1]
            assert [each["move"]["move"] for each in found] == game["moves"][::-1]
            assert whole["review"]["decided"] is None
            assert [whole["review"]["sums"][side]["moves"] for side in "XO"] == [2, 2]
            assert analyzer.seen == 4
            shorter = {"start": "-XOXOOOO-XOOXOOO X", "moves": ["pass"]}
            *found, _, _ = await answers_of(line, {"id": 2, "do": "review", **shorter})
            assert [(each["ply"], each["move"] is None) for each in found] == [(1, True), (0, False)]
            assert analyzer.seen == 4, "what was reviewed is remembered"

    ask(test, selection_of(analyzer))


class Counting(FirstMove):
    """Counts the analyses."""

    def __init__(self) -> None:
        super().__init__(GAME)
        self.seen = 0

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        self.seen += 1
        return super().analyse(position, limit, stop)


def test_a_request_stops_the_one_before_it() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await line.send_json({"id": 1, "do": "analyse", "moves": []})
            await asyncio.to_thread(slow.begun.wait, 30)
            answers = await answers_of(line, {"id": 2, "do": "choose", "opponent": "first", "moves": []})
            assert [each["id"] for each in answers] == [2, 2]
            assert slow.stopped
            slow.begun.clear()
            slow.stopped = False
            await line.send_json({"id": 3, "do": "review", "moves": []})
            await asyncio.to_thread(slow.begun.wait, 30)
            await line.send_json({"id": 4, "do": "stop"})
            answers = await answers_of(line, {"id": 5, "do": "choose", "opponent": "first", "moves": []})
            assert len(answers) == 2
            assert slow.stopped

    ask(test, selection_of(slow))


class UntilReleased(FirstMove):
    """Thinks until it is stopped, or to the end once that is allowed."""

    def __init__(self) -> None:
        super().__init__(GAME)
        self.may_end, self.begun = threading.Event(), threading.Semaphore(0)

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        self.begun.release()
        while not stop() and not self.may_end.wait(0.001):
            pass
        return super().analyse(position, limit, stop)


@pytest.mark.parametrize("do", ["analyse", "review"])
def test_a_long_step_of_one_page_makes_way_for_another_page_and_is_not_lost(do: str) -> None:
    long = UntilReleased()
    game = {"start": "-XOXOOOO-XOOXOOO X", "moves": []}

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            await one.send_json({"id": 1, "do": do, **game})
            await asyncio.to_thread(long.begun.acquire)
            for number in range(2):  # the second time the step has begun anew
                answers = await answers_of(other, {"id": number, "do": "choose", "opponent": "first", "moves": []})
                assert answers[0]["analysis"]["moves"][0]["move"] == "b1"
                await asyncio.to_thread(long.begun.acquire)
            long.may_end.set()
            assert "analysis" in await one.receive_json(timeout=100)

    ask(test, selection_of(long))


def test_pages_that_all_want_long_analyses_all_get_them() -> None:
    game = GAMES["reversi6"]
    search = SearchAnalyzer("hash", game, HashEvaluator(game), 20)
    opponents = [Opponent("first", "the first move", FirstMove(game), Limit())]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            both = [answers_of(line, {"id": 1, "do": "analyse", "moves": []}) for line in (one, other)]
            for *found, last in await asyncio.gather(*both):
                visits = [sum(move["visits"] for move in each["analysis"]["moves"]) for each in found]
                assert visits == list(STEPS)
                assert last == {"id": 1, "final": True}

    ask(test, Selection(opponents, "first", "nobody", search))


@pytest.mark.parametrize("games", [1, 2, 5, 20])
def test_moves_that_all_have_half_a_second_come_within_a_second(games: int) -> None:
    waited_s, limit = 0.0, Limit(seconds=0.5)
    for game in range(games):
        given = shared(limit, games - game - 1, waited_s).seconds
        assert given is not None
        assert limit.seconds is not None
        assert limit.seconds / CROWD <= given <= limit.seconds
        waited_s += given
    assert waited_s < 1
    assert games > 1 or waited_s == 0.5


@pytest.mark.parametrize("games", [2, 5, 20])
def test_moves_of_so_many_simulations_come_within_a_second_too(games: int) -> None:
    limit, waited_s = Limit(4000), 0.0
    for game in range(games):
        given = shared(limit, games - game - 1, waited_s)
        assert given.simulations == 4000
        waited_s += given.seconds or 0.5 / CROWD  # nobody waits for the last one
    assert waited_s < 1
    assert shared(limit, 0, 9.0) == limit, "alone it is what makes the opponent"
    assert shared(Limit(seconds=0.5), 3, 0.0).seconds == shared(limit, 3, 0.0).seconds == 0.125


@pytest.mark.parametrize(
    ("given", "usual", "nodes", "proven", "shortened"),
    [
        (Limit(4000), Limit(4000), 4001, False, False),
        (Limit(4000, 0.1), Limit(4000), 900, False, True),
        (Limit(4000), Limit(4000), 900, False, True),  # others came while it thought
        (Limit(4000, 0.1), Limit(4000), 900, True, False),
        (Limit(4000, 0.1), Limit(4000), 4001, False, False),
        (Limit(seconds=0.499), Limit(seconds=0.5), 900, False, False),
        (Limit(seconds=0.1), Limit(seconds=0.5), 900, False, True),
        (Limit(seconds=0.1), Limit(seconds=0.5), 900, True, False),
        (Limit(0), Limit(0), 1, False, False),
    ],
)
def test_a_move_that_was_searched_less_is_called_shortened(
    given: Limit, usual: Limit, nodes: int, proven: bool, shortened: bool
) -> None:
    assert is_shortened(Analysis((MoveAnalysis(0),), nodes, 0.1, proven=proven), given, usual) == shortened


class InTwoParts(FirstMove):
    """Thinks in two parts, each until it is stopped, as the solver and then a search do."""

    def __init__(self) -> None:
        super().__init__(GAME)
        self.begun = threading.Semaphore(0)

    def analyse(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        for _ in range(2):
            self.begun.release()
            while not stop():
                pass
        return super().analyse(position, limit, stop)


def test_a_move_of_many_simulations_gives_way_to_those_that_come_later() -> None:
    endless = InTwoParts()
    opponents = [Opponent("first", "first", FirstMove(GAME), Limit(7)), Opponent("long", "long", endless, Limit(4000))]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            asked = asyncio.create_task(answers_of(one, {"id": 1, "do": "choose", "opponent": "long", "moves": []}))
            await asyncio.to_thread(endless.begun.acquire)
            await answers_of(other, {"id": 1, "do": "choose", "opponent": "first", "moves": []})
            found, _ = await asked
            assert found["shortened"]
            assert found["analysis"]["moves"][0]["move"]
            await asyncio.to_thread(endless.begun.acquire)

    ask(test, Selection(opponents, "first", "nobody"))


def test_a_move_takes_less_time_while_others_wait() -> None:
    opponent, slow = FirstMove(GAME), UntilReleased()
    opponents = [
        Opponent("first", "first", opponent, Limit(seconds=0.5)),
        Opponent("slow", "slow", slow, Limit(8)),
    ]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            await one.send_json({"id": 1, "do": "choose", "opponent": "slow", "moves": []})
            await asyncio.to_thread(slow.begun.acquire)
            asked = asyncio.create_task(answers_of(other, {"id": 1, "do": "choose", "opponent": "first", "moves": []}))
            await asyncio.sleep(0.2)
            slow.may_end.set()
            await asked
            assert 0.5 / CROWD <= (opponent.limits[0].seconds or 0) <= 0.3

    ask(test, Selection(opponents, "first", "nobody"))


def test_a_request_that_waits_for_its_turn_is_taken_back_by_the_next_one() -> None:
    opponent, slow = FirstMove(GAME), UntilReleased()
    opponents = [Opponent("first", "first", opponent, Limit(7)), Opponent("slow", "slow", slow, Limit(seconds=100))]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as one, page.ws_connect("/api/think") as other:
            await one.send_json({"id": 1, "do": "choose", "opponent": "slow", "moves": []})
            await asyncio.to_thread(slow.begun.acquire)
            for number in range(3):
                await other.send_json({"id": number, "do": "choose", "opponent": "first", "moves": []})
                await asyncio.sleep(0.1)  # the server has it in its queue
            asked = asyncio.create_task(answers_of(other, {"id": 9, "do": "choose", "opponent": "first", "moves": []}))
            await asyncio.sleep(0.1)
            slow.may_end.set()
            assert [each["id"] for each in await asked] == [9, 9]
            assert opponent.limits == [Limit(7)]

    ask(test, Selection(opponents, "first", "nobody"))


class Published:
    """A source of selections that a test publishes."""

    wait_s = 0.01

    def __init__(self) -> None:
        self.waiting: list[Selection] = []

    def newer(self) -> Selection | None:
        return self.waiting.pop(0) if self.waiting else None


def of_model(version: int) -> Selection:
    """Return an opponent with a model that plays the first or the last move by turns, and another without one."""
    label = f"model {version}"
    opponents = [
        Opponent("model", label, LastMove(GAME) if version % 2 else FirstMove(GAME), Limit(), version),
        Opponent("first", "the first move", FirstMove(GAME), Limit()),
    ]
    return Selection(opponents, "model", label, FirstMove(GAME))


class LastMove(FirstMove):
    def choose(self, position: Position, limit: Limit, stop: Callable[[], bool], /) -> Analysis:
        return Analysis.of_move(position.legal_actions()[-1])


def test_new_games_get_the_newer_model_and_others_go_on_against_theirs() -> None:
    source = Published()

    async def played(line: ClientWebSocketResponse, **asked: object) -> tuple[str, int | None]:
        answer, _ = await answers_of(line, {"id": 1, "do": "choose", "moves": [], "opponent": "model", **asked})
        return answer["analysis"]["moves"][0]["move"], answer["opponent"]["model"]

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think?info") as told, page.ws_connect("/api/think") as line:
            assert (await told.receive_json(timeout=100))["info"]["name"] == "model 0"
            for version in range(1, KEPT + 1):
                source.waiting.append(of_model(version))
                info = (await told.receive_json(timeout=100))["info"]
                assert info == await (await page.get("/api/info")).json()
                assert (info["name"], info["opponents"][0]["model"]) == (f"model {version}", version)
                assert await played(line) == ("c4" if version % 2 else "b1", version)
                assert await played(line, model=None) == await played(line)
                assert await played(line, opponent="first") == ("b1", None)
                if version < KEPT:
                    assert await played(line, model=0) == ("b1", 0)
            assert await played(line, model=0) == ("c4" if KEPT % 2 else "b1", KEPT)  # the oldest has gone
            (answer,) = await answers_of(
                line, {"id": 2, "do": "choose", "opponent": "model", "model": "1", "moves": []}
            )
            assert answer["error"] == "expected the version of a model or null, got '1'"

    ask(test, of_model(0), source=source)


def test_a_page_that_leaves_stops_its_request() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await line.send_json({"id": 1, "do": "analyse", "moves": []})
            await asyncio.to_thread(slow.begun.wait, 30)
        async with page.ws_connect("/api/think") as line:  # the thread is free again
            await answers_of(line, {"id": 2, "do": "choose", "opponent": "first", "moves": []})
        assert slow.stopped

    ask(test, selection_of(slow))


def test_a_server_that_ends_stops_what_runs() -> None:
    slow = ThinksUntilStopped(GAME)

    async def test(page: Page) -> None:
        line = await page.ws_connect("/api/think")
        await line.send_json({"id": 1, "do": "analyse", "moves": []})
        await asyncio.to_thread(slow.begun.wait, 30)
        await page.server.close()
        assert (await line.receive(timeout=100)).type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED)

    ask(test, selection_of(slow))
    assert slow.stopped


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("[]", "expected a JSON object, got list"),
        ("nonsense", "expected a JSON object"),
        ('{"do": "dance"}', "expected choose, analyse, review or stop, got 'dance'"),
        ('{"do": "choose", "opponent": "nobody"}', "expected one of first, slow, got 'nobody'"),
        ('{"do": "analyse", "moves": ["a1"]}', "expected one of"),
        ('{"do": "analyse", "start": "OOOOOOOOXXXXXXXX X"}', "the game is over"),
    ],
)
def test_a_wrong_request_is_answered_in_words_and_the_next_one_works(request_: str, message: str) -> None:
    async def test(page: Page) -> None:
        async with page.ws_connect("/api/think") as line:
            await line.send_str(request_)
            answer = await line.receive_json(timeout=100)
            assert message in answer["error"]
            assert answer["final"]
            assert len(await answers_of(line, {"id": 1, "do": "choose", "opponent": "first", "moves": []})) == 2

    ask(test)
