# SPDX-License-Identifier: BSD-3-Clause
r"""Labels of the rows of bags when only the number of positives in each bag is known.

Given scores :math:`f_j`, the labels with the wanted number of positives per bag that have the
smallest sum of hinge losses :math:`[1 - y_j f_j]_+` put the highest scores on the positive side:
to make row :math:`i` positive instead of row :math:`j` changes the sum by
:math:`\phi(f_i) - \phi(f_j)` with :math:`\phi(f) = [1 - f]_+ - [1 + f]_+`, which decreases
strictly in :math:`f`. The same holds for the logistic loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A product of share and size this close to a whole or half number is that number.
_ROUNDING = 1e-9


def expected_counts(shares: Floats, n_rows: NDArray[Any]) -> Floats:
    """Return how many of the rows of every bag its share stands for.

    Parameters
    ----------
    shares : ndarray of shape (n_bags,)
        Share of positives; below 0 and above 1 count as 0 and 1.
    n_rows : ndarray of shape (n_bags,)
        Number of rows at hand.

    Returns
    -------
    ndarray of shape (n_bags,)
        Not rounded, but free of rounding errors at whole and half numbers; so the counts of the
        other class, from one minus the shares, are the rest exactly where it matters.
    """
    counts = np.clip(shares * n_rows, 0.0, n_rows)
    halves = 0.5 * np.rint(2.0 * counts)
    is_rounded = np.abs(counts - halves) <= _ROUNDING * np.maximum(n_rows, 1)
    return np.asarray(np.where(is_rounded, halves, counts), dtype=np.float64)


def label_top_counts(
    scores: NDArray[Any],
    bag_index: NDArray[Any],
    counts: NDArray[Any],
    *,
    previous: Floats | None = None,
) -> Floats:
    """Label the rows of every bag so that its count holds and the sum of hinge losses is least.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Decision values.
    bag_index : int ndarray of shape (n_rows,)
        Bag of every row, from 0 to n_bags - 1.
    counts : ndarray of shape (n_bags,)
        Wanted number of positives, rounded to the nearest whole number. A count half way between
        two numbers allows both; then the row in the middle gets the sign of its own score.
    previous : ndarray of shape (n_rows,), optional
        Labels so far. Among equal scores their positives come first; without them, and among
        equals in that too, the order of rows decides.

    Returns
    -------
    ndarray of shape (n_rows,)
        -1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([0.3, -2.0, 0.1, 4.0, 5.0])
    >>> label_top_counts(scores, np.array([0, 0, 0, 1, 1]), np.array([2, 1]))
    array([ 1., -1.,  1., -1.,  1.])
    """
    keys = (-scores, bag_index) if previous is None else (-previous, -scores, bag_index)
    order = np.lexsort(keys)
    rows_per_bag = np.bincount(bag_index, minlength=len(counts))
    first = np.cumsum(rows_per_bag) - rows_per_bag
    bag = bag_index[order]
    above = counts[bag] - (np.arange(len(order)) - first[bag]) - 0.5
    own_sign = np.where(scores[order] > 0, 1.0, -1.0)
    signs = np.empty(len(order))
    signs[order] = np.where(above == 0, own_sign, np.sign(above))
    return signs
