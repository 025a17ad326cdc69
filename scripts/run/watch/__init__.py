"""The page of a run, live or as one file."""

from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""The files of the page."""
