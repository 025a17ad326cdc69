"""Learning: the replay, the algorithms and their training, the weights' broadcast, the trackers."""
