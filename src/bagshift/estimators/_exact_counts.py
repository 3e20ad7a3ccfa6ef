# SPDX-License-Identifier: BSD-3-Clause
r"""Labels of the rows of bags when only the number of positives in each bag is known.

Given scores :math:`f_j`, the labels with the wanted number of positives per bag that have the
smallest sum of hinge losses :math:`[1 - y_j f_j]_+` put the highest scores on the positive side:
to make row :math:`i` positive instead of row :math:`j` changes the sum by
:math:`\phi(f_i) - \phi(f_j)` with :math:`\phi(f) = [1 - f]_+ - [1 + f]_+`, which decreases
strictly in :math:`f`. The same holds for the logistic loss.

Where the number of positives :math:`r` may miss the wanted one :math:`c` at a price,
:math:`q[\,|r - c| - e]_+`, the highest scores are positive all the same, and what is left to
choose is :math:`r`. The loss saved by the r-th positive, :math:`-\phi(f_{(r)})`, falls with
:math:`r` and its price rises, so that all ranks are worth it up to one, and each can be judged
alone: no search over :math:`r` is needed.
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
    price: float = np.inf,
    slack: NDArray[Any] | float = 0.0,
    previous: Floats | None = None,
) -> Floats:
    """Label the rows of every bag so that hinge losses and the price of its count are least.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Decision values.
    bag_index : int ndarray of shape (n_rows,)
        Bag of every row, from 0 to n_bags - 1.
    counts : ndarray of shape (n_bags,)
        Wanted number of positives, whole or not.
    price : float, default=inf
        What each positive too many or too few costs, in units of hinge loss. Without bound the
        number of positives is the nearest one that there is. Where two numbers are equally near,
        as from a count half way between them, the row in the middle gets the sign of its own
        score.
    slack : float or ndarray of shape (n_bags,), default=0.0
        How many positives too many or too few cost nothing.
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
    >>> label_top_counts(scores, np.array([0, 0, 0, 1, 1]), np.array([2, 1]), price=1.0)
    array([ 1., -1.,  1.,  1.,  1.])
    """
    keys = (-scores, bag_index) if previous is None else (-previous, -scores, bag_index)
    order = np.lexsort(keys)
    rows_per_bag = np.bincount(bag_index, minlength=len(counts))
    first = np.cumsum(rows_per_bag) - rows_per_bag
    bag = bag_index[order]
    rank = np.arange(len(order)) - first[bag] + 1
    dearer = _excess(rank, counts, slack, bag) - _excess(rank - 1, counts, slack, bag)
    saved = _hinge_saved(scores[order])
    if price < np.inf:
        is_positive = saved > price * dearer
    else:
        is_positive = np.where(np.abs(dearer) <= _ROUNDING, saved > 0, dearer < 0)
    signs = np.empty(len(order))
    signs[order] = np.where(is_positive, 1.0, -1.0)
    return signs


def count_excess(
    signs: Floats, bag_index: NDArray[Any], counts: NDArray[Any], slack: NDArray[Any] | float = 0.0
) -> Floats:
    """Return by how much the number of positives in every bag misses the wanted one.

    Parameters
    ----------
    signs : ndarray of shape (n_rows,)
        -1 or +1.
    bag_index, counts, slack
        As in :func:`label_top_counts`.

    Returns
    -------
    ndarray of shape (n_bags,)
        Beyond the slack; at least 0.
    """
    found = np.bincount(bag_index, signs > 0, minlength=len(counts))
    return _excess(found, counts, slack, np.arange(len(counts)))


def _excess(
    n_positive: NDArray[Any],
    counts: NDArray[Any],
    slack: NDArray[Any] | float,
    bag: NDArray[Any],
) -> Floats:
    allowed = slack[bag] if isinstance(slack, np.ndarray) else slack
    return np.asarray(np.maximum(0.0, np.abs(n_positive - counts[bag]) - allowed))


def _hinge_saved(scores: NDArray[Any]) -> Floats:
    """Return the hinge loss that a row saves as a positive instead of a negative."""
    return np.asarray(np.maximum(0.0, 1.0 + scores) - np.maximum(0.0, 1.0 - scores))
