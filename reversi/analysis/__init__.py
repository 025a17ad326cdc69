"""What commands, page and protocols say about a position or a game."""
