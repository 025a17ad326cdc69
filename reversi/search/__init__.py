"""Search: PUCT trees of many games in lockstep, flat Monte Carlo, and what both are told by `Evaluate` and config."""
