"""The roles of a run under Ray: their calls, deaths, restarts and health."""
