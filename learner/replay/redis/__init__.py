"""The replay over Redis: a stream that survives every process of a run, and a ring that caches its tail."""
