"""Questions that ask nearly the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ALIKE = 0.92  # cosine from which two questions count as one


def nearly_there(vector: npt.NDArray[np.float32], known: npt.NDArray[np.float32], alike: float = ALIKE) -> bool:
    """Whether the cosine of `vector` (d) with a row of `known` (n x d) is `alike` or more; all have length 1."""
    return bool(len(known)) and float((known @ vector).max()) >= alike
