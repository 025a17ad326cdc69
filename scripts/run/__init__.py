"""A training run in one process, and what every run has: its folder, its session, its output."""
