"""Whether the memory of a run grows: `python -m tests.faults.soak RUN`."""
