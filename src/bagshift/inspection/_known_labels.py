# SPDX-License-Identifier: BSD-3-Clause
"""Labels of single target rows that a release gives as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bagshift.bags import Bags


def positive_or_not(bags: Bags) -> NDArray[np.int64]:
    """Read the known labels of target rows.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    ndarray of shape (n_rows,)
        1 for the positive class, 0 for the other one, -1 where the label is not known.
    """
    known = bags.has_label & ~bags.is_source
    found = np.full(len(bags), -1, dtype=np.int64)
    for row in np.flatnonzero(known):
        label = bags.label_values[row]
        if bags.positive is not None:
            found[row] = label == bags.positive
        elif bags.negative is not None:
            found[row] = label != bags.negative
        else:
            found[row] = label == 1  # classes are 0 or -1 or False, and 1 or True
    return found
