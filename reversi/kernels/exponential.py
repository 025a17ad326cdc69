"""e**x in plain float32 arithmetic: the same bits on every machine, and no call of a C library."""

from __future__ import annotations

import numpy as np

from reversi.kernels.kernel import bare_kernel

_NEGATIVE_POWERS = np.ldexp(np.float32(1), -np.arange(127))  # float32[127]  2**-i


@bare_kernel
def exponential(x: np.float32) -> np.float32:
    """Return e**max(x, -87) for x <= 0, accurate to 2 units in the last place; NaN counts as -87.

    Cephes' `expf` (http://www.netlib.org/cephes).  `reversi signature` needs the same bits on every machine, which the
    C library does not guarantee.
    """
    x = x if x > -87 else np.float32(-87)  # also where x is no number, whose index would be out of bounds
    power = np.floor(x * np.float32(1.44269504) + np.float32(0.5))  # e**x = 2**power * e**rest
    rest = x - power * np.float32(0.693359375) + power * np.float32(2.12194440e-4)
    series = np.float32(1.9875691500e-4)
    series = series * rest + np.float32(1.3981999507e-3)
    series = series * rest + np.float32(8.3334519073e-3)
    series = series * rest + np.float32(4.1665795894e-2)
    series = series * rest + np.float32(1.6666665459e-1)
    series = series * rest + np.float32(5.0000001201e-1)
    return np.float32((series * rest * rest + rest + np.float32(1)) * _NEGATIVE_POWERS[int(-power)])
