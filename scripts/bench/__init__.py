"""`reversi bench`: the speed of every layer on this machine, its limits, and other programs for comparison."""
