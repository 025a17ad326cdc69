"""Making games at scale: self-play, and the worker that plays it in rounds."""
