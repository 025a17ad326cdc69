"""Names of moves, sides and text in the forms that people and programs write."""

import pytest

from reversi.errors import NotationError
from reversi.games.notation import PASSES, action_name, parse_action, parse_side, plain, spell
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


@pytest.mark.parametrize(
    "word", ["pass", "PA", "ps", "tt", "@@@@", "--", "\uff30\uff41", " Pass ", '"pass"', "\u2013\u2013"]
)
def test_a_pass_has_many_words(word):
    assert parse_action(game_named("reversi6"), word) == 36


@pytest.mark.parametrize(
    ("text", "black"),
    [
        *(
            (text, True)
            for text in ("b", "B", "black", "X", "x", "*", "\u25cf", "Black to move", "black's turn", "(Black)")
        ),
        *((text, False) for text in ("w", "White", "O", "o", "\u25cb", "WHITE to play", "\uff37", "to move: white")),
        *((text, None) for text in ("", "-", "red", "bw", "black white", "X X", "b4", "Black moved")),
    ],
)
def test_a_side_has_many_words(text, black):
    assert parse_side(text) is black


def test_other_forms_of_text_have_the_same_length():
    text = "\uff26\uff15\u3000\u201cd6\u201d \u2013 \u25cf\u25cb\ufeff"
    assert plain(text) == 'F5\u3000"d6" - XO '
    assert len(plain(text)) == len(text)
    assert plain(text) is not text


F5, D6, C3 = 37, 43, 18


@pytest.mark.parametrize(
    "text",
    [
        "f5d6c3",
        "F5 D6, C3",
        "1. f5 d6 2. c3",
        "1) f5 2) d6 3) c3",
        "(1) f5 (2) d6 (3) c3",
        "1 f5 d6\n2 c3",
        "1. f5 d6 2. c3 ... 34-30",
        "f5d6c334-30",
        "f5 d6 c3 (34 - 30)",
        "f5 d6 c3 1/2-1/2",
        "f5 d6 c3 *",
        "f5 d6 c3 B+4",
        "f5 d6 c3 +4",
        "f5 d6 c3 Black wins 34-30.",
        "f5 d6 c3 White won by 4",
        "f5 d6 c3 draw",
        "f5, d6, c3.",
        "f5d6c3;",
        "['f5', 'd6', 'c3']",
        "f5 {a comment} d6 # another\nc3 % the last",
        "\u300cf5\u3001d6\u3001c3\u300d",
        "f5\u2014d6\u2014c3",
        "\uff11\uff0e\uff46\uff15\u3000\uff44\uff16\u3000\uff12\uff0e\uff43\uff13",
    ],
)
def test_moves_are_spelled_in_many_ways(text):
    spelled = spell(text)
    assert (spelled.codes, spelled.is_read()) == ([F5, D6, C3], True)
    assert [plain(text)[place : place + 2].lower() for place in spelled.places] == ["f5", "d6", "c3"]


@pytest.mark.parametrize("text", ["f5 34-30 d6", "f5 zz", "f5 d", "f5 12", "f5 past", "f5-7-d6", "f5 2c3", "f5 \u00b2"])
def test_what_is_no_move_stops_the_spelling(text):
    spelled = spell(text)
    assert (spelled.codes, spelled.is_read(), spelled.places) == ([F5], False, [0, 3])


@pytest.mark.parametrize("word", PASSES)
def test_passes_are_spelled_between_moves(word):
    assert [len(spell(text).codes) for text in (f"f5{word}d6", f"f5 {word} d6", f"f5{word.upper()}D6")] == [3, 3, 3]
