"""What only tests ask of the symmetries."""

import numpy as np

INVERSE = np.array([0, 1, 2, 3, 4, 6, 5, 7], np.int64)
"""int64[8]: the inverse of each symmetry; only the two quarter turns, 5 and 6, are not their own inverses."""
