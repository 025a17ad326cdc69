"""A small Othello program that speaks GTP or NBoard and misbehaves on demand; it knows nothing of this project.

    program.py gtp|nboard [--dialect said|implied|refused] [--fault NAME] [--at K] [--seconds S] [--mark FILE]
               [--log FILE] [--seed N]

Its rules are its own, and it refuses every move that they do not allow.  A fault happens at the K-th move that it is
asked for, faults of the start at once.  --mark FILE spares the first start: it makes the file and crashes at
the K-th move, and the fault happens once the file is there.
"""

import argparse
import os
import random
import re
import signal
import sys
import time

STEPS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


class Board:
    def __init__(self, size):
        low = size // 2 - 1
        self.size, self.side = size, "B"
        self.disc = {(low, low): "W", (low + 1, low + 1): "W", (low, low + 1): "B", (low + 1, low): "B"}

    def turned(self, square, side):
        found = []
        for down, right in STEPS:
            line, (row, col) = [], square
            while True:
                row, col = row + down, col + right
                disc = self.disc.get((row, col))
                if disc is None:
                    break
                if disc == side:
                    found += line
                    break
                line.append((row, col))
        return found

    def moves(self, side):
        squares = [(row, col) for row in range(self.size) for col in range(self.size)]
        return [square for square in squares if square not in self.disc and self.turned(square, side)]

    def play(self, square):
        for each in [square, *self.turned(square, self.side)]:
            self.disc[each] = self.side
        self.switch()

    def switch(self):
        self.side = "W" if self.side == "B" else "B"


def name(square):
    return "abcdefgh"[square[1]] + str(square[0] + 1)


def square(text):
    return int(text[1]) - 1, "abcdefgh".index(text[0].lower())


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Program:
    def __init__(self, options):
        self.options, self.board, self.asked = options, Board(8), 0
        self.random = random.Random(options.seed)

    def fault(self, *names):
        return self.options.fault in names and self.asked >= self.options.at

    def misbehave(self, prefix):
        """Do what goes wrong at this move; return whether something was said instead of a move."""
        self.asked += 1
        if self.options.fault == "stderr":
            sys.stderr.write("noise " * 50_000 + "\n")
        if self.fault("hang"):
            time.sleep(1000)
        if self.fault("crash"):
            sys.stderr.write("segmentation fault, as it were\n")
            sys.stderr.flush()
            os._exit(7)
        if self.fault("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        while self.fault("flood"):
            say("nonsense without end")
        while self.fault("endless"):
            sys.stdout.write("x" * 4096)
        wrong = {"garbage": "xyzzy", "empty": "", "offboard": "k9", "illegal": "", "resign": "resign"}
        if self.fault(*wrong):
            taken = next(iter(self.board.disc))
            say(prefix + (name(taken) if self.options.fault == "illegal" else wrong[self.options.fault]) + "\n")
        elif self.fault("pass"):
            say(prefix + "pass\n")
        elif self.fault("prose"):
            say("I would rather not\n")
        else:
            return False
        return True

    def choose(self):
        return self.random.choice(self.board.moves(self.board.side))

    def told(self, text, side):
        """Apply a move; return what is wrong with it, or None."""
        board, dialect = self.board, self.options.dialect
        must_pass = not board.moves(board.side)
        if text.lower() in ("pass", "pa"):
            if dialect == "refused" or side != board.side or not must_pass:
                return "illegal move"
            board.switch()
            return None
        if side != board.side:
            if dialect != "implied" or not must_pass:
                return "wrong colour"
            board.switch()
        if square(text) not in board.moves(side) or self.fault("refusal"):
            return "illegal move"
        board.play(square(text))
        if dialect == "refused" and not board.moves(board.side):
            board.switch()
        return None

    def gtp(self, line):
        word, *arguments = line.split()
        if word == "boardsize":
            if self.options.fault == "size":
                say("? unacceptable size\n")
                return
            self.board = Board(int(arguments[0]))
        elif word == "clear_board":
            self.board = Board(self.board.size)
        elif word == "play":
            wrong = self.told(arguments[1], arguments[0][0].upper())
            if wrong:
                say("? " + wrong + "\n")
                return
        elif word == "genmove":
            if self.misbehave("= "):
                return
            if arguments[0][0].upper() != self.board.side:
                say("? wrong colour\n")
                return
            move = self.choose()
            self.told(name(move), self.board.side)
            if self.options.fault == "blank":
                say("\nthinking...\n\n= " + name(move).upper() + " \n\n\n\n")
            else:
                say("= " + name(move) + "\n")
            return
        elif word != "quit":
            say("? unknown command\n")
            return
        say("=\n")

    def nboard(self, line):
        if line.startswith("set game"):
            size, cells, side = re.search(r"BO\[(\d) (\S+) (\S)\]", line).groups()
            self.board = Board(int(size))
            assert side == "*"
            discs = {"*": "B", "O": "W"}
            found = {divmod(at, int(size)): discs[cell] for at, cell in enumerate(cells) if cell != "-"}
            assert found == self.board.disc
            for colour, text in re.findall(r"(?<![A-Z])([BW])\[(\w\w)", line):
                assert self.told(text, colour) is None, text
        elif line.startswith("move"):
            assert self.told(line.split()[1].split("/")[0], self.board.side) is None, line
        elif line.startswith("ping"):
            if self.options.fault != "deaf":
                say("pong " + line.split()[1])
        elif line == "go":
            say("status thinking")
            if self.misbehave("=== "):
                return
            move = name(self.choose())
            styles = ["=== {}", "=== {}/1.25/0.5", "=== {} 1.25 0.5", "==={}"]
            say(styles[self.asked % 4].format(move.upper() if self.asked % 2 else move))
            say("nodestats 12 0.5")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("protocol", choices=("gtp", "nboard"))
    parser.add_argument("--dialect", default="said")
    parser.add_argument("--fault", default="")
    parser.add_argument("--at", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mark")
    parser.add_argument("--log")
    options = parser.parse_args()
    if options.mark and not os.path.exists(options.mark):
        open(options.mark, "w").close()
        options.fault = "crash"
    if options.fault == "exit":
        sys.stderr.write("no licence found\n")
        sys.exit(3)
    if options.fault == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.fault == "banner":
        say("Welcome to Program 1.0\n(c) nobody\n")
    time.sleep(options.seconds)
    program = Program(options)
    for line in sys.stdin:
        if options.log:
            with open(options.log, "a") as log:
                log.write(str(os.getpid()) + " " + line)
        line = line.strip()
        if line == "quit" and options.fault == "stubborn":
            continue
        if line:
            getattr(program, options.protocol)(line)
        if line == "quit":
            return
    while options.fault == "stubborn":
        time.sleep(1)


main()
