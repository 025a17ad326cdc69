"""The gate: first model, promotion, rejection, early stop, waiting candidates, and coming back after a crash."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator import contestants as contestants_module
from evaluator import trial as trial_module
from evaluator.match import Match
from evaluator.openings import Openings
from reversi import players
from reversi.errors import ConfigError, CorruptFileError, IncompatibleModelError, NoGatedModelError
from reversi.games.bitboard import Masks
from reversi.games.rules import GAMES, Game
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from reversi.players import Player, RandomPlayer, SearchPlayer
from reversi.search.apv_mcts import SearchResult
from reversi.search.config import SearchConfig
from scripts.bench.setup import Settings, random_weights
from scripts.run.tracking.metrics import flatten
from tests.evaluator.gates import CONFIG, GAME, Store, judge, make, until_verdict, weights

pytestmark = pytest.mark.usefixtures("scripted")


def test_the_first_model_is_published_without_a_match(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    assert gate.round(1.0).champion_version == -1
    store.queue.append(weights(0).to_bytes())
    report = gate.round(1.0)
    assert (report.verdict, report.champion_version, store.champions) == ("first", -1, [0])
    assert "version 0 is the baseline" in report.summary
    with pytest.raises(NoGatedModelError):
        registry.gated()
    assert [model.verdict for model in registry.models()] == ["first"]
    assert gate.round(1.0).verdict is None
    assert not gate.poll()


def test_a_stronger_candidate_is_promoted_and_a_weaker_one_kept_with_its_verdict(
    registry: Registry, store: Store
) -> None:
    gate = make(registry, store)
    _, promoted, rejected = judge(gate, 0, 10, 11)
    assert (promoted.verdict, rejected.verdict) == ("promoted", "rejected")
    assert (promoted.candidate_version, promoted.opponent_version, promoted.champion_version) == (10, 0, 10)
    assert (rejected.candidate_version, rejected.opponent_version, rejected.champion_version) == (11, 10, 10)
    assert promoted.wins >= 22 > rejected.wins
    assert promoted.wins + promoted.draws + promoted.losses < 40, "it stopped early"
    assert promoted.score_low < promoted.score <= promoted.score_high
    assert rejected.champion_elo == promoted.champion_elo == promoted.elo > 0
    assert (rejected.promotions, rejected.rejections) == (1, 1)
    assert store.champions == [0, 10]
    assert registry.gated().version == 10
    infos = registry.models()
    assert [info.verdict for info in infos] == ["first", "promoted", "rejected"]
    match = infos[2].match
    assert match is not None
    assert (match["opponent_version"], match["simulations"], match["wins_needed"]) == (10, 2, 22)
    assert sum(match["black"]) + sum(match["white"]) == rejected.wins + rejected.draws + rejected.losses
    assert match["interval"] == [rejected.score_low, rejected.score_high]
    assert "version 11 rejected against 10" in rejected.summary


def with_weights(registry: Registry) -> list[int]:
    return [int(path.parent.name) for path in sorted(Path(registry.url).glob("models/*/model.safetensors"))]


def test_the_newest_rejected_candidates_alone_keep_their_weights(registry: Registry, store: Store) -> None:
    judge(make(registry, store), 0, 10, 11, 12)
    assert with_weights(registry) == [0, 10, 11, 12]
    report = judge(make(registry, store, keep_rejected=2), 13, 14)[-1]
    assert with_weights(registry) == [0, 10, 13, 14]
    assert report.rejections == 4
    assert [info.version for info in registry.models()] == [0, 10, 11, 12, 13, 14]


def test_a_repeated_run_judges_candidates_again_whose_weights_were_dropped(registry: Registry, store: Store) -> None:
    gate = make(registry, store, keep_rejected=1)
    judge(gate, 0, 10)
    state = gate.state()
    judge(gate, 11, 12, 13)
    again = make(registry, Store(), keep_rejected=1, repeats=True)
    again.restore(state)
    assert [report.verdict for report in judge(again, 11, 12, 13)] == ["rejected"] * 3
    assert with_weights(registry) == [0, 10, 13]


def test_an_equal_candidate_needs_its_margin(registry: Registry, store: Store) -> None:
    gate = make(registry, store, dataclasses.replace(CONFIG, games=400, wins=260, games_at_once=400))
    _, report = judge(gate, 1, 2)
    assert report.verdict == "rejected"
    assert report.score_low < 0.5 < report.score_high


def test_only_the_newest_candidate_waits_while_a_match_runs(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    judge(gate, 0)
    gate.offer(weights(1).to_bytes())
    assert gate.round(0).candidate_version == 1
    for version in (2, 3):
        gate.offer(weights(version).to_bytes())
    store.queue.append(weights(4).to_bytes())
    report = until_verdict(gate)
    assert (report.candidate_version, report.superseded) == (1, 2)
    assert gate.poll()
    assert until_verdict(gate).candidate_version == 4
    assert [info.version for info in registry.models()] == [0, 1, 4]


def test_what_was_offered_or_judged_before_is_passed_over(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    judge(gate, 0, 10)
    for version in (10, 7, 0):
        gate.offer(weights(version).to_bytes())
    assert not gate.poll()
    again = make(registry, store)
    again.offer(weights(10).to_bytes())
    assert not again.poll()


def test_a_candidate_of_another_game_or_damaged_is_refused(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    with pytest.raises(IncompatibleModelError, match="reversi6"):
        gate.offer(weights(0, GAMES["reversi8"]).to_bytes())
    with pytest.raises(CorruptFileError):
        gate.offer(weights(0).to_bytes()[:-5])


def test_a_new_gate_takes_the_champion_and_its_elo_from_the_registry(registry: Registry, store: Store) -> None:
    before = judge(make(registry, store), 0, 10, 11)[-1]
    other = Store()
    report = make(registry, other).round(1.0)
    assert other.champions == [10]
    assert (report.champion_version, report.champion_elo) == (10, before.champion_elo)
    assert (report.promotions, report.rejections) == (1, 1)


def test_a_match_goes_on_after_a_restart(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    judge(gate, 0, 10)
    gate.offer(weights(11).to_bytes())
    while (report := gate.round(0)).losses < 5:
        assert report.verdict is None
    gate.offer(weights(12).to_bytes())
    resumed = make(registry, store)
    resumed.restore(gate.state())
    went_on = resumed.round(0)
    assert (went_on.candidate_version, went_on.opponent_version) == (11, 10)
    assert went_on.losses >= 5
    assert went_on.match_s >= report.match_s
    assert until_verdict(resumed).verdict == "rejected"
    assert until_verdict(resumed).candidate_version == 12


def test_with_real_networks_an_interrupted_match_is_the_one_that_was_not(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches have no luck of their own, so that every game goes on as it would have."""
    monkeypatch.setattr(contestants_module, "model_player", players.model_player)
    gate, twin = make(registry, Store()), make(Registry(str(tmp_path / "twin"), create=True), Store())
    for each in (gate, twin):
        judge(each, 0)
        each.offer(weights(1).to_bytes())
    for _ in range(20):
        gate.round(0)
    resumed = make(registry, Store())
    resumed.restore(gate.state())
    assert resumed.state() == gate.state()
    one, other = until_verdict(resumed), until_verdict(twin)
    assert dataclasses.replace(one, match_s=0) == dataclasses.replace(other, match_s=0)


def test_a_round_that_sets_a_match_up_is_no_longer_than_one_that_plays(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop in between has the gate's state at once, and the match is the one that it would have been."""
    judged: list[int] = []

    class Watched(SearchPlayer):
        def judge(self, own: Masks, opp: Masks) -> SearchResult:
            judged.append(len(own))
            return super().judge(own, opp)

    monkeypatch.setattr(contestants_module, "model_player", players.model_player)
    monkeypatch.setattr("reversi.players.model.SearchPlayer", Watched)
    config = dataclasses.replace(CONFIG, games=80, wins=44, opening_choice=4, truth_positions=40, truth_empties=8)
    gate = make(registry, Store(), config)
    twin = make(Registry(str(tmp_path / "twin"), create=True), Store(), config)
    for each in (gate, twin):
        judge(each, 0)
        each.offer(weights(1).to_bytes())
    while not judged:
        assert gate.round(1e-9).truth is None
    resumed = make(registry, Store(), config)
    resumed.restore(gate.state())
    rounds = 0
    while (report := resumed.round(1e-9)).truth is None:
        rounds += 1
        assert report.wins + report.draws + report.losses == 0
    assert rounds == 9, "the champion's player, 160 openings by 32, the match, 40 positions by 32"
    assert judged[:8] == [32] * 7 + [8]
    again = make(registry, Store(), config)
    again.restore(resumed.state())
    one, other = until_verdict(again), until_verdict(twin)
    assert dataclasses.replace(one, match_s=0) == dataclasses.replace(other, match_s=0)


def test_a_match_begins_where_the_champion_sees_an_even_game(
    registry: Registry, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Openings] = []

    def watched(game: Game, a: Player, b: Player, openings: Openings, *rest: Any, **settings: Any) -> Match:
        played.append(openings)
        return Match(game, a, b, openings, *rest, **settings)

    monkeypatch.setattr(contestants_module, "model_player", players.model_player)
    monkeypatch.setattr(trial_module, "Match", watched)
    model = random_weights(Settings(size=6, blocks=1, channels=8))
    for choice in (1, 8):
        config = dataclasses.replace(CONFIG, opening_choice=choice)
        gate = make(Registry(f"{registry.url}{choice}", create=True), store, config)
        for version in (0, 1):
            gate.offer(dataclasses.replace(model, version=version).to_bytes())
            until_verdict(gate)
    champion = players.model_player("champion", GAME, model, players.playing_config(2, solve_empties=0))
    any_way, even = (np.abs(champion.judge(one.own, one.opp).value) for one in played)
    assert len(any_way) == len(even) == 20
    assert even.max() < np.median(any_way)


def test_every_candidate_is_checked_on_solved_positions(registry: Registry, store: Store) -> None:
    config = dataclasses.replace(CONFIG, truth_positions=60, truth_empties=8)
    gate = make(registry, store, config)
    first, random, searching = (report.truth for report in judge(gate, 0, 1, 10))
    assert first is None  # no match, nothing asked
    assert random is not None
    assert searching is not None
    assert random.positions == searching.positions == 60
    assert random.outcome_kept < searching.outcome_kept
    assert random.regret_discs > searching.regret_discs + 1
    resumed = make(registry, store, config)
    resumed.restore(gate.state())
    assert resumed.round(0).truth == searching
    match = registry.models()[-1].match
    assert match is not None
    assert match["truth"]["outcome_kept"] == searching.outcome_kept
    metrics = flatten("gate", resumed.round(0))
    assert metrics["gate/truth/regret_discs"] == searching.regret_discs
    assert "gate/truth/policy_best" not in metrics  # flat Monte Carlo has no policy


def test_other_settings_start_the_match_afresh(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    judge(gate, 0, 10)
    gate.offer(weights(11).to_bytes())
    while gate.round(0).losses < 5:
        pass
    resumed = make(registry, store, dataclasses.replace(CONFIG, simulations=4))
    resumed.restore(gate.state())
    report = resumed.round(0)
    assert (report.candidate_version, report.losses) == (11, 0)


def test_a_verdict_that_came_after_the_state_was_saved_stands(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    judge(gate, 0)
    gate.offer(weights(10).to_bytes())
    gate.round(0)
    saved = gate.state()
    until_verdict(gate)
    resumed = make(registry, store)
    resumed.restore(saved)
    assert not resumed.poll()
    assert resumed.round(0).champion_version == 10
    assert [info.version for info in registry.models()] == [0, 10]


def test_a_champion_that_was_half_published_is_completed(registry: Registry, store: Store) -> None:
    judge(make(registry, store), 0, 10)
    (Path(registry.url) / "gated.json").unlink()
    report = make(registry, store).round(0)
    assert (report.champion_version, registry.gated().version) == (10, 10)


def test_the_state_is_an_archive_that_knows_damage(registry: Registry, store: Store) -> None:
    gate = make(registry, store)
    data = gate.state()
    gate.restore(data)
    with pytest.raises(CorruptFileError):
        gate.restore(data[: len(data) // 2])


def test_too_few_openings_are_said_at_once(registry: Registry, store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected 20 distinct openings of 2 plies in reversi6, but found only 3"):
        make(registry, store, dataclasses.replace(CONFIG, opening_plies=2))
    path = tmp_path / "openings.txt"
    path.write_text("c2b4\nc2b2\n")
    with pytest.raises(ConfigError, match=r"gate.openings must have at least 20 lines for gate.games=40, got 2"):
        make(registry, store, dataclasses.replace(CONFIG, openings=str(path)))


def test_listed_openings_are_played(registry: Registry, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("c2b4\nc2b2\nc2d2\n")
    gate = make(registry, store, dataclasses.replace(CONFIG, games=6, wins=4, openings=str(path)))
    report = judge(gate, 0, 10)[1]
    assert report.verdict == "promoted"
    assert 4 <= report.wins <= 6


def test_elo_adds_up_over_champions_alone(registry: Registry, store: Store) -> None:
    _, promoted, _ = judge(make(registry, store), 0, 10, 11)
    assert [(model.match or {})["champion_elo"] for model in registry.models()[1:]] == [promoted.elo] * 2


def test_a_champions_elo_is_added_to_that_of_the_one_before(registry: Registry, store: Store) -> None:
    _, one, two = judge(make(registry, store, dataclasses.replace(CONFIG, wins=1)), 0, 10, 20)
    assert two.champion_elo == pytest.approx(one.champion_elo + two.elo)
    assert one.champion_elo != 0


def test_matches_take_the_configured_solver_and_the_truth_none(
    registry: Registry, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def player(name: str, game: Game, model: Weights, playing: SearchConfig, **_: Any) -> RandomPlayer:
        asked.append((playing.simulations, playing.solve_empties))
        return RandomPlayer(game, np.random.default_rng(0))

    monkeypatch.setattr(contestants_module, "model_player", player)
    config = dataclasses.replace(CONFIG, solve_empties=3, truth_positions=5, truth_simulations=9)
    judge(make(registry, store, config), 0, 1)
    assert sorted(asked) == [(2, 3), (2, 3), (9, 0)]


def test_a_candidate_whose_answers_are_not_numbers_is_not_judged(
    registry: Registry, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    gate, sound = make(registry, store), weights(1)
    huge = {name: np.full_like(array, 3e38) for name, array in sound.arrays.items()}
    gate.offer(dataclasses.replace(sound, arrays=huge).to_bytes())
    assert not gate.poll()
    assert "a candidate is not judged: expected a model whose answers are finite numbers" in caplog.text
    judge(gate, 2)
    assert registry.latest().version == 2


def test_the_elo_of_a_champion_that_no_description_says_is_that_of_its_matches(
    registry: Registry, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    *_, promoted = judge(make(registry, store), 0, 10)
    path = Path(registry.url) / "models" / "000010" / "model.json"
    values = json.loads(path.read_text())
    del values["match"]["champion_elo"]
    path.write_text(json.dumps(values))
    assert make(registry, Store()).round(0).champion_elo == promoted.champion_elo
    assert "000010/model.json has no champion_elo" in caplog.text
