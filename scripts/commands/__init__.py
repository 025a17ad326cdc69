"""The commands of `reversi`, a module each."""
