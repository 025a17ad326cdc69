"""Inject faults into a small run, and count what was lost: `python -m tests.faults.drill NAME ...`."""
