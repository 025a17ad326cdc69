"""APV-MCTS: PUCT and Gumbel trees over arrays, from positions and a network's evaluations to visits and values."""
