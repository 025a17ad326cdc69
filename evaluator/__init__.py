"""Evaluator: matches between players, their statistics, and the gate that decides which candidate becomes champion."""
