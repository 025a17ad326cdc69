"""`reversi drill`: inject faults into a small run, and count what was lost."""
