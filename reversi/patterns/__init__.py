"""Patterns: a value for every position as a sum of learned numbers, one for the discs on each line, edge and corner."""
