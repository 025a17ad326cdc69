"""Other people's programs as players."""
