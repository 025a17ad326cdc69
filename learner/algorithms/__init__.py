"""The algorithms: one file each with its loss, and their settings."""
