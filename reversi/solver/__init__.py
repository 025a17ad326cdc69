"""The exact solver: the score of a position when both sides play perfectly."""
