"""Learning: the replay, the algorithms and their training, the publication of weights, the trackers."""
