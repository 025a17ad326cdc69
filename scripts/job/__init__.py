"""A training job: its configuration, its folder, its loop and its output."""
