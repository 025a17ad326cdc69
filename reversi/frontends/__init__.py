"""Front ends: people and other programs at one end, a `Position` and a `Player` at the other."""
