"""Hydra configuration: one group per part, one file per choice.  `reversi train --cfg job` prints all of it."""
