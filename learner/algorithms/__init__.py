"""What is learned from a sample: one file per algorithm, its loss; and its settings."""
