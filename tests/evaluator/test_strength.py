"""Champions against opponents that stay the same: who plays whom and when, what is kept, what a fall is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.gate_report import GateReport
from evaluator.strength import Strength, StrengthReport, older_champions
from reversi.errors import ConfigError
from reversi.games.rules import GAMES
from reversi.model.registry import Registry
from tests.evaluator.gates import CONFIG, GAME, Store, make, weights

MEASURED = replace(CONFIG, opponents=("random", "greedy"), opponent_games=8, opponent_every=2, opponent_share=1.0)

pytestmark = pytest.mark.usefixtures("scripted")


def rounds(registry: Registry, *versions: int, **settings: bool) -> list[GateReport]:
    """Let a new gate judge candidates one after another, and then play what is due."""
    gate, reports = make(registry, Store(), MEASURED, **settings), []
    for version in versions:
        gate.offer(weights(version).to_bytes())
        reports += [gate.round(1.0)]
        while gate.poll() or gate._strength.due:
            reports.append(gate.round(1.0))
    return reports


def played(reports: list[GateReport]) -> list[StrengthReport]:
    return [match for report in reports for match in report.strength]


def test_which_older_champions_are_played_changes_rarely() -> None:
    chosen = [older_champions(number) for number in range(10)]
    assert chosen[:4] == [[], [0], [0, 1], [0, 1, 2]]
    assert chosen[4:9] == [[0, 1, 2], *[[1, 2, 4]] * 4]
    assert chosen[9] == [2, 4, 8]


def test_every_champion_plays_the_fixed_opponents_and_older_champions(registry: Registry) -> None:
    matches = played(rounds(registry, 0, 10, 20))
    promoted = [info.version for info in registry.models() if info.verdict == "promoted"]
    assert promoted[0] == 10
    assert [match.opponent for match in matches[:5]] == ["random", "greedy", "random", "greedy", "v0"]
    assert [match.version for match in matches[:5]] == [0, 0, 10, 10, 10]
    assert all(match.wins + match.draws + match.losses == 8 for match in matches)
    assert matches[2].champion
    assert matches[2].score > 0.8 > matches[2].score_low


def test_results_become_part_of_the_description(registry: Registry) -> None:
    matches = [match for match in played(rounds(registry, 0, 10)) if match.version == 10]
    described = registry.get(10).match
    assert described is not None
    assert [each["name"] for each in described["opponents"]] == ["random", "greedy", "v0"]
    assert [each["points"] for each in described["opponents"]] == [match.score for match in matches]
    text = (Path(registry.url) / "models" / "000010" / "card.md").read_text()
    for match in matches:
        assert f"| {match.opponent} | {match.wins}-{match.draws}-{match.losses} | {match.score:.3f} [" in text
    assert registry.gated().version == 10
    assert registry.load(registry.get(10)).version == 10


def test_some_candidates_play_the_fixed_opponents_alone(registry: Registry) -> None:
    reports = rounds(registry, 0, 10, 11, 12, 13, 14)
    verdicts = {report.candidate_version: report.verdict for report in reports if report.verdict}
    assert [verdicts[version] for version in (11, 12, 13, 14)] == ["rejected"] * 4
    later = [match for match in played(reports) if match.version > 10]
    assert [(match.version, match.opponent) for match in later] == [
        (version, name) for version in (12, 14) for name in MEASURED.opponents
    ]
    assert not any(match.champion or match.fallen for match in later)


def test_a_champion_below_an_earlier_ones_interval_has_fallen(registry: Registry) -> None:
    strength = Strength(replace(MEASURED, opponent_games=60), GAME, registry, 1, by_clock=False)
    falls = []
    for version in (10, 1, 20):  # flat Monte Carlo, at random, flat Monte Carlo
        registry.publish(weights(version), "first", None)
        strength.judged(weights(version), [0], promoted=True)
        falls += [(match.version, match.fallen) for _ in range(2) if (match := strength.round(0))]
    assert dict(falls[::2]) == {10: False, 1: True, 20: False}


def test_the_share_of_the_time_is_a_limit_and_is_reported(registry: Registry) -> None:
    strength = Strength(replace(MEASURED, opponent_share=1e-9), GAME, registry, 1, by_clock=True)
    strength.judged(weights(0), [0], promoted=True)
    assert strength.due
    match = strength.round(60.0)
    assert match is not None
    assert match.share >= 0.0
    assert strength.share > 0.0
    assert not strength.due


@pytest.mark.parametrize("by_clock", [False, True])
def test_a_state_goes_on_with_what_is_left(registry: Registry, by_clock: bool) -> None:
    gate = make(registry, Store(), MEASURED, by_clock=by_clock)
    gate.offer(weights(0).to_bytes())
    gate.round(1.0)
    (first,) = gate.round(60.0).strength
    again = make(registry, Store(), MEASURED, by_clock=by_clock)
    again.restore(gate.state())
    (second,) = again.round(60.0).strength
    assert (first.opponent, second.opponent) == MEASURED.opponents
    assert min(first.share, second.share) > 0
    assert not again.round(60.0).strength


def test_off_means_that_nobody_plays(registry: Registry) -> None:
    strength = Strength(replace(MEASURED, opponents=()), GAME, registry, 1, by_clock=False)
    strength.judged(weights(0), [0], promoted=True)
    assert not strength.due
    with pytest.raises(ConfigError, match=r"gate\.opponents: unknown player 'nobody'"):
        Strength(replace(MEASURED, opponents=("nobody",)), GAME, registry, 1, by_clock=False)
    tictactoe = Strength(MEASURED, GAMES["tictactoe"], registry, 1, by_clock=False)
    tictactoe.judged(weights(0), [0], promoted=True)
    assert not tictactoe.due


def test_a_champion_that_cannot_be_read_is_left_out(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    strength = Strength(MEASURED, GAME, registry, 1, by_clock=False)
    registry.publish(weights(10), "first", None)
    strength.judged(weights(10), [7, 10], promoted=True)
    opponents = [match.opponent for _ in range(3) if (match := strength.round(0))]
    assert opponents == ["random", "greedy"]
    assert "no result of version 10 against v7" in caplog.text
    assert not strength.due
