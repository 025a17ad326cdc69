"""The launchers of a run, serial and Ray, and what only a start needs."""
