"""Arguments that several commands share, and positions read from standard input."""
