"""The picture of a position: read back from its elements, it is the position."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

import pytest

from reversi.games.board_svg import DISC, DISCS, DOT, EDGE, SQUARE, board_svg
from reversi.games.position import Position
from reversi.games.rules import GAMES
from tests.reversi.games import oracle

SVG = "{http://www.w3.org/2000/svg}"
SYMBOLS = {fill: symbol for symbol, (fill, _) in DISCS.items()}


def circles(svg: str, size: int, radius: float) -> dict[int, str]:
    """Return the symbol of every circle with this radius, by the square in whose middle it is."""
    found = {}
    for each in ElementTree.fromstring(svg).iter(f"{SVG}circle"):
        if float(each.attrib["r"]) == pytest.approx(radius, abs=0.05):
            column, row = ((float(each.attrib[at]) - EDGE) / SQUARE - 0.5 for at in ("cx", "cy"))
            assert (column, row) == (round(column), round(row)), "not in the middle of a square"
            found[round(row) * size + round(column)] = SYMBOLS[each.attrib["fill"]]
    return found


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_discs_are_those_of_the_position_and_dots_are_its_legal_moves(game):
    for own, opp in zip(*oracle.scattered(game, 20, seed=7), strict=True):
        for black_to_move in (True, False):
            position = Position(game, int(own), int(opp), black_to_move)
            svg, squares = position._repr_svg_(), str(position).split()[0]
            assert circles(svg, game.size, DISC) == {i: each for i, each in enumerate(squares) if each != "-"}
            legal = [action for action in position.legal_actions() if action != game.pass_action]
            assert circles(svg, game.size, DOT) == dict.fromkeys(legal, "X" if black_to_move else "O")


@pytest.mark.parametrize("size", [3, 4, 6, 8])
def test_rows_and_columns_have_their_names_once_and_nothing_leaves_the_picture(size):
    svg = board_svg("X" * size * size, size, {}, "full")
    assert Counter(texts(svg)) == Counter([*"abcdefgh"[:size], *map(str, range(1, size + 1)), "full"])
    assert len(circles(svg, size, DISC)) == size * size
    root = ElementTree.fromstring(svg)
    assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    for element in root.iter():
        for at in {"x", "y", "cx", "cy"} & element.attrib.keys():
            assert 0 <= float(element.attrib[at]) <= float(root.attrib["width"])


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("-----OX--XO----- X", "Black to move (Black 2, White 2)"),
        ("XO-------------- O", "White to move must pass (Black 1, White 1)"),
        ("XX-------------- O", "game over, Black wins (Black 2, White 0)"),
        ("X---O---- X", "Black to move"),
    ],
)
def test_the_caption_names_the_sides_as_they_look(text, caption):
    svg = Position.parse(text)._repr_svg_()
    assert texts(svg)[-1] == caption
    assert [each.text for each in ElementTree.fromstring(svg).iter(f"{SVG}title")] == [caption]


def test_marks_stand_on_their_squares_and_none_on_a_disc():
    svg = Position.start("reversi4").picture({4: "+1.5", 5: "hidden", 7: "<&>"})
    marks = [each for each in ElementTree.fromstring(svg).iter(f"{SVG}text") if each.text in ("+1.5", "hidden", "<&>")]
    assert [each.text for each in marks] == ["+1.5", "<&>"]
    assert [float(each.attrib["x"]) for each in marks] == [EDGE + 0.5 * SQUARE, EDGE + 3.5 * SQUARE]
    assert circles(svg, 4, DOT) == {}


def test_a_caption_is_text_and_no_markup():
    svg = board_svg("-" * 9, 3, {}, "<script>&'\"")
    assert texts(svg)[-1] == "<script>&'\""
    assert "<script>" not in svg
