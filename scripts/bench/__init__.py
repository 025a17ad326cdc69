"""`reversi bench`: the speed of every layer on this machine, and its limits."""
