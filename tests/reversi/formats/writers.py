"""What other programs write of a game, made by their own rules, for tests.

Edax 4 (game.c, obftest.c), OthelloTk 1 (its save_game), Quarry (two letters a square, an empty value for a pass), GGS,
eOthello's table, WTHOR; and people, who write transcripts in many ways.
"""

from __future__ import annotations

from collections.abc import Sequence

from reversi.formats.ggf import GgfGame, GgfMove
from reversi.games.notation import PASS, parse_action
from reversi.games.position import Position
from tests.reversi.formats.wthor_files import wtb

Moves = Sequence[str]
"""Names of plies, passes included."""


def positions(start: Position, moves: Moves) -> list[Position]:
    """Return every position of a game."""
    found = [start]
    for move in moves:
        found.append(found[-1].play(move))
    return found


def squares(position: Position) -> str:
    """Return the squares of a position, X, O and -."""
    return str(position).split()[0]


def rows(text: str) -> list[str]:
    """Return the rows of squares."""
    size = int(len(text) ** 0.5)
    return [text[at : at + size] for at in range(0, len(text), size)]


def ours(start: Position, moves: Moves) -> str:
    """Return the GGF of this program."""
    return str(GgfGame(start, tuple(GgfMove(parse_action(start.game, move)) for move in moves)))


def ggs(start: Position, moves: Moves) -> str:
    """Return a line of an archive of GGS: rows apart, values and times, tags of any length, `PA` for a pass."""
    plies = [
        f"{'B' if before.black_to_move else 'W'}[{'PA' if move == PASS else move.upper()}/{ply - 3.5:.2f}/{ply}.01]"
        for ply, (before, move) in enumerate(zip(positions(start, moves), moves, strict=False))
    ]
    board = " ".join(rows(squares(start).replace("X", "*")))
    side = "*" if start.black_to_move else "O"
    tags = "PC[GGS/os]DT[2003.12.15_13:24:03.MST]PB[one]PW[two]RB[2197.01]RW[2199.72]TI[05:00//02:00]COMMENT[a (b]"
    size = start.game.size
    return f"2 (;GM[Othello]{tags}TY[s{size}r18]RE[+0.000]BO[{size} {board} {side}]{''.join(plies)};)"


def edax_ggf(start: Position, moves: Moves) -> str:
    """Return the GGF of Edax: small letters after GM, no values, rows apart."""
    plies = [
        f"{'B' if before.black_to_move else 'W'}[{'PA' if move == PASS else move.upper()}]"
        for before, move in zip(positions(start, moves), moves, strict=False)
    ]
    board = " ".join(rows(squares(start).replace("X", "*")))
    side = "*" if start.black_to_move else "O"
    return f"(;GM[othello]PC[Edax]PB[?]PW[?]RE[+4.000]BO[{start.game.size} {board} {side}]{''.join(plies)};)"


def edax_sgf(start: Position, moves: Moves) -> str:
    """Return the SGF of Edax: the set-up, the first move in the first node, `PA` for a pass."""
    game, cells = start.game, squares(start)
    points = {
        disc: "".join(
            f"[{'abcdefgh'[at % game.size]}{at // game.size + 1}]" for at in range(game.squares) if cells[at] == disc
        )
        for disc in "XO"
    }
    plies = [
        f"{'B' if before.black_to_move else 'W'}[{'PA' if move == PASS else move}];"
        for before, move in zip(positions(start, moves), moves, strict=False)
    ]
    setup = f"AB{points['X']}AW{points['O']}PL[{'B' if start.black_to_move else 'W'}]"
    head = f"FF[4]GM[2]AP[edax:4.5]\nPC[Edax]DT[2024-01-02]\nPB[?]PW[?]\nSZ[{game.size}]{setup}\nRE[Void]\n"
    return f"(;{head}{''.join(plies)})"


def othellotk(start: Position, moves: Moves) -> str:
    """Return the SGF of OthelloTk: a node a line, `@@@@` for a pass."""
    head = edax_sgf(start, []).partition("SZ")[2].partition("\nRE")[0]
    plies = [
        f";{'B' if before.black_to_move else 'W'}[{'@@@@' if move == PASS else move}]\n"
        for before, move in zip(positions(start, moves), moves, strict=False)
    ]
    return f"(;GM[2]FF[4]\nSZ{head}\nAP[OthelloTk:1.0]\n{''.join(plies)})\n"


def quarry(start: Position, moves: Moves) -> str:
    """Return an SGF of two letters a square, an empty value for a pass, and sizes and games as SGF allows them."""
    head = edax_sgf(start, []).partition("SZ")[2].partition("\nRE")[0].partition("]")[2]
    plies = [
        f";{'B' if before.black_to_move else 'W'}[{'' if move == PASS else move[0] + 'abcdefgh'[int(move[1]) - 1]}]"
        for before, move in zip(positions(start, moves), moves, strict=False)
    ]
    size = start.game.size
    return f"(;FF[4]CA[UTF-8]AP[Quarry:0.2]GM[2 ]SZ[{size}:{size}]{head}{''.join(plies)})"


def edax_pgn(start: Position, moves: Moves) -> str:
    """Return the PGN of Edax: numbered pairs of moves, 20 a line, `pass` for a pass, the score as a comment."""
    words, last = list[str](), positions(start, moves)[-1]
    for ply, move in enumerate(moves):
        words += [f"{ply // 2 + 1}."] * (ply % 2 == 0) + [move]
    text = "\n".join(" ".join(words[at : at + 20]) for at in range(0, len(words), 20))
    fen = "" if start == Position.start(start.game) else f'[FEN "{chess_fen(start)}"]\n'
    tags = '[Event "?"]\n[Site "edax"]\n[Date "2024.1.2"]\n[Round "?"]\n[Black "a \\"b"]\n[White "c"]\n[Result "*"]\n'
    tags += fen
    end = "{c wins 20-44} 0-1" if last.is_over else "*"
    return f"{tags}\n{text}\n{end}\n\n\n"


def chess_fen(position: Position) -> str:
    """Return a position as programs of chess write it: the last row first, p is Black's disc, P is White's."""
    from_below = reversed(rows(squares(position).replace("X", "p").replace("O", "P")))
    return f"{'/'.join(digits(row) for row in from_below)} {side_of(position)} - - 0 1"


def fen(position: Position) -> str:
    """Return rows of X and O from the top, digits for empty squares."""
    return f"{'/'.join(digits(row) for row in rows(squares(position)))} {side_of(position)}"


def digits(row: str) -> str:
    """Return a row with the numbers of empty squares in their place."""
    for count in range(len(row), 0, -1):
        row = row.replace("-" * count, str(count))
    return row


def side_of(position: Position) -> str:
    """Return b or w."""
    return "b" if position.black_to_move else "w"


def edax_obf(position: Position, scores: dict[str, int], *, sentinel: bool) -> str:
    """Return a line of OBF as Edax writes it: its scored moves, or the best score alone, and a comment."""
    fields = "".join(f" {'PS' if move == PASS else move.upper()}:{score:+d};" for move, score in scores.items())
    return f"{position};{fields or ' +12;'}{' --:-127;' if sentinel else ''} % a comment"


def transcript(moves: Moves, passes: str = "") -> str:
    """Return joined moves with this word for a pass."""
    return "".join(passes if move == PASS else move for move in moves)


def eothello(games: Sequence[Moves]) -> str:
    """Return a table as eOthello's on Kaggle."""
    lines = [f"{number},{(-1, 1)[number % 2]},{transcript(moves)}" for number, moves in enumerate(games)]
    return "\n".join(["eOthello_game_id,winner,game_moves", *lines]) + "\n"


def wthor(games: Sequence[Moves]) -> bytes:
    """Return a WTHOR file."""
    return wtb([transcript(moves) for moves in games])
