"""The training of networks: steps, optimisers, validation, transfers to a GPU."""
