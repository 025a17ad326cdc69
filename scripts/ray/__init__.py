"""A training run under Ray: the cluster, the placement, supervision and the loop of its roles; jobs on a cluster."""
