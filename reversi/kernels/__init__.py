"""What a numba kernel is made of: compilation and its cache, vector lanes, arrays in the frame, e**x, threads."""
