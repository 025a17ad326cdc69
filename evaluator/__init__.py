"""Evaluator: matches between players, their statistics, and the gate that decides which candidate becomes champion."""

MOST_GAMES = 1_000_000
"""Most games of a match or of a pair of players; they need half as many distinct openings."""
