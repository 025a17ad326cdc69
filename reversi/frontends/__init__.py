"""Front ends: the interfaces through which people and other programs play and analyse."""
