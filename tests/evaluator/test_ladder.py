"""A ladder plays what is missing and nothing else, and holds the same games however they came about."""

from __future__ import annotations

import json
import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.entrants import Entrant, distinct, entrant_of
from evaluator.ladder import BATCH_GAMES, KEPT_PLAYERS, Ladder, in_batches
from evaluator.ledger import Ledger
from evaluator.openings import Openings, random_openings
from reversi.errors import IllegalMoveError, UsageError
from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.model.registry import Registry
from reversi.players import Forfeit, Player, make_player
from scripts.bench.setup import Settings, random_weights
from scripts.rate.report import as_text
from tests.reversi.model.samples import PATTERNS, weights

GAME = GAMES["reversi4"]
OPENINGS = random_openings(GAME, 30, 4, 0)


def fixed(spec: str) -> Entrant:
    return entrant_of(spec, GAME, registry=None, simulations=4)


def ladder(path: Path, specs: str, games: int = 40, seed: int = 0, one_sided: int | None = None) -> Ladder:
    entrants = [fixed(spec) for spec in specs.split()]
    return Ladder(GAME, entrants, OPENINGS, Ledger(path), games=games, seed=seed, one_sided=one_sided)


def games_of(path: Path) -> list[str]:
    """Every line of a file in some order, without how long it took."""
    lines = map(json.loads, path.read_text().splitlines() if path.exists() else [])
    return sorted(str(line | {"seconds": 0}) for line in lines)


def test_every_pair_plays_every_game_once(tmp_path: Path) -> None:
    one = ladder(tmp_path / "results", "random greedy flat-mc:10", games=40)
    assert one.missing == 120
    played = list(one.play(workers=2))
    assert Counter((entry.key.a, entry.key.b, sum(entry.black + entry.white)) for entry in played) == {
        (a, b, BATCH_GAMES): 2 for a, b in (("greedy", "random"), ("flat-mc:10", "greedy"), ("flat-mc:10", "random"))
    }
    assert one.missing == 0
    assert [pairing.games for pairing in one.pairings()] == [40, 40, 40]
    assert list(one.play(workers=2)) == []


@pytest.mark.parametrize(("games", "longer", "added"), [(2, 22, 20), (30, 40, 0), (30, 60, 20), (50, 52, 0)])
def test_more_games_of_any_number_repeat_none(tmp_path: Path, games: int, longer: int, added: int) -> None:
    list(ladder(tmp_path / "results", "random greedy", games=games).play(workers=1))
    more = ladder(tmp_path / "results", "random greedy", games=longer)
    assert more.games == in_batches(longer)
    assert more.missing == added
    assert sum(2 * sum(entry.pairs) for entry in more.play(workers=1)) == added


def test_the_games_left_are_counted_without_reading_all_results_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 50 players they were half a second of looking up for every five batches."""
    one = ladder(tmp_path / "results", "random greedy flat-mc:10", games=40)
    games = one.play(workers=1)
    left = [one.missing]
    for _ in games:
        with monkeypatch.context() as reading:
            reading.setattr(Ledger, "find", lambda *_: pytest.fail("results were read again"))
            left.append(one.missing)
    assert left[0] == 120
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0


def test_the_last_batch_is_smaller_if_the_openings_run_out(tmp_path: Path) -> None:
    openings = OPENINGS.take(np.arange(13))
    one = Ladder(GAME, [fixed("random"), fixed("greedy")], openings, Ledger(tmp_path / "results"), games=26, seed=0)
    assert [sum(entry.pairs) for entry in one.play(workers=1)] == [10, 3]
    assert one.games == one.pairings()[0].games == 26


def test_in_one_go_or_in_many_the_games_are_the_same(tmp_path: Path) -> None:
    """More games, more players in another order, an interruption, another number of workers: the same file."""
    whole = ladder(tmp_path / "whole", "random greedy flat-mc:10", games=60)
    list(whole.play(workers=1))
    parts = tmp_path / "parts"
    list(ladder(parts, "greedy random", games=20).play(workers=2))
    interrupted = ladder(parts, "flat-mc:10 greedy random", games=60).play(workers=2)
    next(interrupted)
    interrupted.close()
    assert 1 < len(games_of(parts)) < 9
    last = ladder(parts, "random flat-mc:10 greedy", games=60)
    list(last.play(workers=2))
    assert games_of(parts) == games_of(tmp_path / "whole")
    one, other = ({r.player: r.elo for r in each.ratings("random").table} for each in (whole, last))
    assert one == pytest.approx(other, abs=1e-6)
    assert one["random"] == other["random"] == 0


def test_a_new_player_plays_its_own_pairs_alone(tmp_path: Path) -> None:
    list(ladder(tmp_path / "results", "random greedy").play(workers=1))
    added = ladder(tmp_path / "results", "random greedy flat-mc:10")
    assert added.missing == 80
    assert all("flat-mc:10" in (entry.key.a, entry.key.b) for entry in added.play(workers=1))


def test_other_seeds_and_openings_are_other_games(tmp_path: Path) -> None:
    list(ladder(tmp_path / "results", "random greedy").play(workers=1))
    assert ladder(tmp_path / "results", "random greedy", seed=1).missing == 40
    entrants, others = [fixed("random"), fixed("greedy")], random_openings(GAME, 20, 5, 0)
    assert Ladder(GAME, entrants, others, Ledger(tmp_path / "results"), games=40, seed=0).missing == 40
    changed = [fixed("random"), replace(fixed("greedy"), digest="other weights")]
    assert Ladder(GAME, changed, OPENINGS, Ledger(tmp_path / "results"), games=40, seed=0).missing == 40


def test_a_one_sided_pair_is_not_played_further(tmp_path: Path) -> None:
    """On 6x6, flat Monte Carlo wins the first 20 games against chance, and 40 of 60 need not be played."""
    game, path = GAMES["reversi6"], tmp_path / "results"
    entrants = [entrant_of(spec, game, registry=None, simulations=4) for spec in ("random", "flat-mc:300")]

    def missing(one_sided: int | None, play: bool = False) -> int:
        openings = random_openings(game, 30, 5, 2)
        one = Ladder(game, entrants, openings, Ledger(path), games=60, seed=0, one_sided=one_sided)
        if play:
            assert [entry.pairs for entry in one.play(workers=1)] == [(0, 0, 0, 0, 10)]
            assert one.pairings()[0].pairs == (0, 0, 0, 0, 10)
        return one.missing

    assert missing(20, play=True) == 0
    assert [missing(longer) for longer in (None, 21, 40)] == [40, 40, 40]
    assert [missing(shorter) for shorter in (1, 20)] == [0, 0]


class First:
    """Plays the first legal action: a player without luck."""

    def __init__(self, name: str) -> None:
        self.name = name

    def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
        positions = (Position(GAME, int(a), int(b)) for a, b in zip(own, opp, strict=True))
        return np.array([position.legal_actions()[0] for position in positions], np.int32)


def test_both_players_get_the_same_openings_with_both_colours(tmp_path: Path) -> None:
    """Two players without luck that are the same player draw every pair: 1 point of 2."""
    entrants = [Entrant(name=name, digest=None, make=lambda _, name=name: First(name), reusable=False) for name in "xy"]
    one = Ladder(GAME, entrants, OPENINGS, Ledger(tmp_path / "results"), games=40, seed=0)
    list(one.play(workers=1))
    assert one.pairings()[0].pairs == (0, 0, 20, 0, 0)


def test_rock_paper_scissors_shows(tmp_path: Path) -> None:
    """Results of 80 % around a circle leave equal ratings and residuals of 0.3."""
    entrants = [replace(fixed("random"), name=name) for name in ("paper", "rock", "scissors")]
    played = Ladder(GAME, entrants, OPENINGS, Ledger(tmp_path / "played"), games=20, seed=0)
    circle = Ledger(tmp_path / "circle")
    for entry in played.play(workers=1):
        won = (entry.key.a, entry.key.b) != ("paper", "scissors")
        circle.add(replace(entry, pairs=(2, 0, 0, 0, 8) if won else (8, 0, 0, 0, 2)))
    ratings = Ladder(GAME, entrants, OPENINGS, circle, games=20, seed=0).ratings("rock")
    assert [rating.elo for rating in ratings.table] == pytest.approx([0, 0, 0], abs=1e-6)
    assert {(r.a, r.b): round(r.excess, 6) for r in ratings.residuals} == {
        ("paper", "rock"): 0.3,
        ("rock", "scissors"): 0.3,
        ("paper", "scissors"): -0.3,
    }


def test_an_error_in_a_game_ends_the_ladder_and_keeps_what_was_played(tmp_path: Path) -> None:
    class Cheat:
        name = "cheat"

        def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
            return np.full(len(own), 0, np.int32)

    cheat = Entrant(name="cheat", digest=None, make=lambda _: Cheat(), reusable=False)
    entrants = [fixed("random"), fixed("greedy"), cheat]
    one = Ladder(GAME, entrants, OPENINGS, Ledger(tmp_path / "results"), games=20, seed=0)
    with pytest.raises(IllegalMoveError, match="cheat"):
        list(one.play(workers=1))
    assert len(games_of(tmp_path / "results")) == 1


def test_a_model_is_made_once_for_each_worker_and_closed_players_every_batch(tmp_path: Path) -> None:
    made: Counter[tuple[str, int]] = Counter()
    closed: list[str] = []

    class Closing(First):
        def close(self) -> None:
            closed.append(self.name)

    def entrant(name: str, keeps: bool) -> Entrant:
        def make(_: int) -> Player:
            made[name, threading.get_ident()] += 1
            return Closing(name)

        return Entrant(name=name, digest=None, make=make, reusable=keeps)

    entrants = [entrant("kept", True), entrant("program", False)]
    list(Ladder(GAME, entrants, OPENINGS, Ledger(tmp_path / "results"), games=60, seed=0).play(workers=2))
    assert max(count for (name, _), count in made.items() if name == "kept") == 1
    assert sum(count for (name, _), count in made.items() if name == "program") == 3
    assert closed == ["program"] * 3


def test_a_worker_keeps_the_players_that_it_used_last_and_no_others(tmp_path: Path) -> None:
    alive: weakref.WeakSet[First] = weakref.WeakSet()
    made: list[str] = []
    most = 0

    def entrant(name: str) -> Entrant:
        def make(_: int) -> Player:
            nonlocal most
            player = First(name)
            made.append(name)
            alive.add(player)
            most = max(most, len(alive))
            return player

        return Entrant(name=name, digest=None, make=make, reusable=True)

    entrants = [entrant(f"{number:02}") for number in range(KEPT_PLAYERS + 4)]
    list(Ladder(GAME, entrants, OPENINGS, Ledger(tmp_path / "results"), games=20, seed=0).play(workers=1))
    assert most == KEPT_PLAYERS + 1
    assert made.count("00") == 1, "it was in every batch until it was not needed any more"


def test_a_program_that_breaks_down_loses_its_games_and_the_ladder_goes_on(tmp_path: Path) -> None:
    class Broken(First):
        def choose_after(self, histories: Sequence[Sequence[int]], /) -> list[int | Forfeit]:
            return [Forfeit("it broke") for _ in histories]

    broken = Entrant(name="broken", digest=None, make=lambda _: Broken("broken"), reusable=False)
    entrants = [fixed("random"), broken, fixed("greedy")]
    one = Ladder(GAME, entrants, OPENINGS, Ledger(tmp_path / "results"), games=20, seed=0)
    lost = {(entry.key.a, entry.key.b): entry.forfeits for entry in one.play(workers=2)}
    by_broken = [lost["broken", "random"][0], lost["broken", "greedy"][0]]
    assert min(by_broken) > 10  # it is not asked where a move is forced
    assert lost == {
        ("broken", "random"): (by_broken[0], 0),
        ("broken", "greedy"): (by_broken[1], 0),
        ("greedy", "random"): (0, 0),
    }
    assert one.forfeits() == {"random": 0, "broken": sum(by_broken), "greedy": 0}
    assert one.ratings("broken").table[-1].player == "broken"
    assert f"broken forfeited {sum(by_broken)} games, counted as lost" in as_text(
        one, one.ratings("broken"), one.forfeits()
    )


@pytest.mark.parametrize(
    ("specs", "games", "words"),
    [
        ("random greedy", 7, "games must be even and at least 2"),
        ("random greedy", 0, "games must be even and at least 2"),
        ("random greedy", 62, "expected at least 31 openings for 62 games a pair, got 30"),
        ("random", 20, "expected at least two players"),
    ],
)
def test_what_cannot_be_played_is_refused(tmp_path: Path, specs: str, games: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ladder(tmp_path / "results", specs, games=games)


def test_gated_is_the_version_that_it_is_today(tmp_path: Path) -> None:
    registry = Registry(str(tmp_path), create=True)
    weights = random_weights(Settings(size=4, blocks=1, channels=8))
    registry.publish(replace(weights, version=12), "promoted", None)
    specs = ["mcts:gated:8", "mcts:12:8", "policy:latest", "gated", "mcts:gated", "12"]
    entrants = [entrant_of(spec, GAME, registry=str(tmp_path), simulations=4) for spec in specs]
    assert [e.name for e in entrants] == ["mcts:12:8", "mcts:12:8", "policy:12", *["mcts:12:4"] * 3]
    same = {name: {e.digest for e in entrants if e.name == name} for name in ("mcts:12:8", "policy:12", "mcts:12:4")}
    assert [len(models) for models in same.values()] == [1, 1, 1]
    assert len(set.union(*same.values())) == 3  # kept results are of these weights under this search
    assert [e.name for e in distinct(entrants)] == ["mcts:12:8", "policy:12", "mcts:12:4"]
    player = make_player("mcts:12:8", GAME, registry=str(tmp_path), seed=0)
    masks = OPENINGS.own, OPENINGS.opp
    assert entrants[0].make(5).choose(*masks).tolist() == player.choose(*masks).tolist()


def test_searches_of_one_model_by_depth_and_by_time_are_entrants_of_their_own(tmp_path: Path) -> None:
    registry = Registry(str(tmp_path), create=True)
    registry.publish(weights("reversi4", 12, config=PATTERNS), "promoted", None)
    specs = ["alphabeta:gated:3", "alphabeta:gated:0.1s", "mcts:gated:0.1s", "mcts:gated:8"]
    entrants = [entrant_of(spec, GAME, registry=str(tmp_path), simulations=4) for spec in specs]
    assert [e.name for e in entrants] == [spec.replace("gated", "12") for spec in specs]
    assert all(e.reusable and e.digest for e in entrants)
    assert entrants[0].digest == entrants[1].digest != entrants[3].digest


def test_a_player_without_a_model_goes_by_its_full_name() -> None:
    entrant = fixed("flat-mc")
    assert (entrant.name, entrant.digest, entrant.reusable) == ("flat-mc:150", None, False)
    with pytest.raises(UsageError, match="unknown player"):
        fixed("nobody")


def test_openings_are_known_by_their_positions(tmp_path: Path) -> None:
    turned = Openings(OPENINGS.own, OPENINGS.opp, ~OPENINGS.black_to_move, OPENINGS.actions)
    list(ladder(tmp_path / "results", "random greedy").play(workers=1))
    entrants = [fixed("random"), fixed("greedy")]
    assert Ladder(GAME, entrants, turned, Ledger(tmp_path / "results"), games=40, seed=0).missing == 40


def test_every_player_of_every_batch_has_a_seed_of_its_own(tmp_path: Path) -> None:
    seeds: list[int] = []

    def first(seed: int) -> First:
        seeds.append(seed)
        return First("first")

    entrants = [Entrant(name=name, digest=None, make=first, reusable=False) for name in "xy"]
    list(Ladder(GAME, entrants, OPENINGS, Ledger(tmp_path / "results"), games=40, seed=0).play(workers=1))
    assert len(set(seeds)) == len(seeds) == 4
