"""Names of moves, sides and text in the forms that people and programs write."""

import pytest

from reversi.errors import NotationError
from reversi.games.notation import action_name, parse_action
from reversi.games.rules import GAMES, game_named


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_names_and_actions_go_round(game):
    names = [action_name(game, action) for action in range(game.actions)]
    assert len(set(names)) == game.actions
    assert (names[0], names[1], names[game.size], names[-1]) == ("a1", "b1", "a2", "pass")
    assert [parse_action(game, name) for name in names] == list(range(game.actions))
    assert [parse_action(game, f" {name.upper()}\n") for name in names] == list(range(game.actions))


@pytest.mark.parametrize("text", ["", "d", "g1", "a7", "a0", "3d", "a11", "d3d3", "passs", "ä1", "-", "a²"])
def test_what_is_no_square_of_6x6_is_a_notation_error_with_the_text(text):
    with pytest.raises(NotationError, match="expected a square from a1 to f6 or pass, got ") as caught:
        parse_action(game_named("reversi6"), text)
    assert str(caught.value).endswith(repr(text))
