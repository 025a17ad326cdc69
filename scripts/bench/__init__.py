"""`reversi bench`: how fast every layer is on this machine, what it could be, and other people's programs beside it."""
