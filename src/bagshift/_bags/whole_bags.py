# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of whole bags."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def whole_bag_borders(starts: NDArray[np.int64], most_rows: int) -> NDArray[np.int64]:
    """Cut rows that stand bag by bag into chunks of whole bags.

    A chunk has as many bags, one after the other, as fit into the number of rows, or one larger
    bag.

    Parameters
    ----------
    starts : int64 ndarray of shape (n_bags + 1,)
        Row that each bag begins with, and the number of rows.
    most_rows : int

    Returns
    -------
    int64 ndarray of shape (n_chunks + 1,)
        Bags that chunks begin with, and the number of bags.
    """
    found = [0]
    while found[-1] < len(starts) - 1:
        end = np.searchsorted(starts, starts[found[-1]] + most_rows, side="right") - 1
        found.append(max(int(end), found[-1] + 1))
    return np.array(found, dtype=np.int64)
