"""Making games at scale: self-play in lockstep, and the worker that plays it in rounds."""
