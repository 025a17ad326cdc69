"""The network, its weights, the backends that evaluate positions with it, and the registry of published models."""
