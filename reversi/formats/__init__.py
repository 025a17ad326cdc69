"""Games and positions in the formats that people and programs write."""
