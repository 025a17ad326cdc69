"""`reversi soak`: whether the memory of a run grows."""
