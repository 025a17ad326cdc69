"""Search: PUCT and Gumbel trees in lockstep, UCT, flat Monte Carlo, alpha-beta, exact endgames."""
