"""`reversi drill`: harm done on purpose to a run, and the account of what it cost."""
