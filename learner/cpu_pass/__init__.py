"""A network's training pass on a CPU, forward and backward."""
