"""External programs as players."""
