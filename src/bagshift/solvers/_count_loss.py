# SPDX-License-Identifier: BSD-3-Clause
"""Minus the log-likelihood of what is published about bags, and its curvature in the scores.

The curvature is the stand-in that :mod:`bagshift.solvers.coupled_logistic` derives: a diagonal,
and one outer product for each bag.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bagshift import _core
from bagshift.solvers.count_likelihood import BagCounts

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountPoint:
    """The loss at some scores.

    Attributes
    ----------
    log_likelihood : ndarray of shape (n_bags,)
        Without the costs.
    slope, curvature : ndarray of shape (n_rows,)
        Derivative in the score of every row, and the diagonal part of the curvature.
    label_variance : ndarray of shape (n_rows,)
        The vector whose outer products, bag by bag, are the other part.
    bag_weight : ndarray of shape (n_bags,)
        Factors of the outer products.
    """

    log_likelihood: Floats
    slope: Floats
    curvature: Floats
    label_variance: Floats
    bag_weight: Floats


@dataclass(frozen=True, eq=False)
class CountLoss:
    """The loss of the scores of rows that stand bag by bag.

    Attributes
    ----------
    counts : BagCounts
    bag_costs : ndarray of shape (n_bags,)
        Factor on the log-likelihood of each bag.
    n_threads : int
        The result does not depend on it.
    """

    counts: BagCounts
    bag_costs: Floats
    n_threads: int = 1

    def at(self, scores: Floats) -> CountPoint:
        """Return the loss at the scores of all rows."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if not np.isfinite(scores).all():
            raise ValueError("scores holds values that are not finite.")
        return CountPoint(
            *_core.count_loss(
                scores=scores,
                starts=self.counts.starts,
                first_counts=self.counts.first_counts,
                weight_starts=self.counts.weight_starts,
                log_weights=self.counts.log_weights,
                costs=np.ascontiguousarray(self.bag_costs, dtype=np.float64),
                n_threads=self.n_threads,
            )
        )
