"""The network, its weights, the two backends that evaluate positions with it, and the registry of published models."""
