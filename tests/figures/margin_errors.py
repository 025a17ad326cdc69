"""Measure the errors of a shipped model's expected margins at the depth of a review, and write them into its
description:  python -m tests.figures.margin_errors reversi8

The model plays strong games against itself from random openings; the solver is given more than the gate has time for.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from evaluator.margin_errors import measured_errors, played_positions
from evaluator.openings import random_openings
from reversi.analysis.alphabeta import AlphaBetaAnalyzer
from reversi.analysis.analyzer import Analysis, Limit
from reversi.analysis.review import TABLE_SIMULATIONS
from reversi.games.position import Position
from reversi.games.rules import NO_ACTION, Game, game_named
from reversi.model.card import margin_section
from reversi.model.info import ModelInfo
from reversi.model.lookup import SHIPPED, load_model
from reversi.players import AlphaBetaModelPlayer, alphabeta_of

GAMES, NODES = 100, 400_000
"""Games, and the positions searched for each of their moves, 0.06 s; of these the last 16 squares are solved."""

PLIES = {"reversi6": 5, "reversi8": 6}
"""Random plies before."""

SOLVED = {"reversi6": 24, "reversi8": 20}
"""Most empty squares of positions that are solved."""


def main(name: str) -> None:
    """Measure, print and write."""
    game, place = game_named(name), SHIPPED / name
    weights = load_model("shipped", game=game)
    search = alphabeta_of(game, weights)
    analyzer = AlphaBetaAnalyzer("review", search, 1.0)

    def analyse(positions: list[Position]) -> list[Analysis]:
        return [analyzer.analyse(position, Limit(TABLE_SIMULATIONS)) for position in positions]

    games = games_of(game, AlphaBetaModelPlayer("player", search, nodes=NODES))
    print(f"{len(games)} games played", file=sys.stderr)
    measuring = measured_errors(
        game, games, analyse, simulations=TABLE_SIMULATIONS, positions=GAMES, solved=SOLVED[name]
    )
    while True:
        try:
            next(measuring)
        except StopIteration as done:
            errors = done.value
            break
    info = ModelInfo.from_json((place / "model.json").read_bytes(), str(place))
    info = replace(info, margin_errors=errors)
    (place / "model.json").write_text(info.to_json())
    text = (place / "card.md").read_text()
    section = margin_section(info)
    (place / "card.md").write_text(f"{text.partition(section.splitlines()[0])[0].rstrip()}\n\n{section}")
    print(section)


def games_of(game: Game, player: AlphaBetaModelPlayer) -> list[list[Position]]:
    """Return the positions of a player's games against itself, one of each opening, after that."""
    openings, games = random_openings(game, GAMES, PLIES[game.name], seed=101), list[list[Position]]()
    for opening in openings.actions.tolist():
        played = [action for action in opening if action != NO_ACTION]
        positions = played_positions(game, played)[-1:]
        while not positions[-1].is_over:
            positions.append(positions[-1].play(int(player.choose(*positions[-1].as_batch())[0])))
        games.append(positions)
    return games


if __name__ == "__main__":
    main(sys.argv[1])
