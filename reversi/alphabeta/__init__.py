"""Alpha-beta over the expected margin of a pattern network."""
