# SPDX-License-Identifier: BSD-3-Clause
"""Minus the log-likelihood of what is published about bags, and its curvature in the scores.

The curvature is the stand-in that :mod:`bagshift.solvers.coupled_logistic` derives: a diagonal,
and one outer product for each bag.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bagshift.solvers.count_likelihood import BagCounts, count_posterior

Floats = NDArray[np.float64]

# Shift of the scores that the variance of a count is read from.
_SHIFT = 1e-3


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


@dataclass(eq=False)
class CountLoss:
    """The loss of the scores of rows that stand bag by bag.

    Attributes
    ----------
    counts : BagCounts
    bag_costs : ndarray of shape (n_bags,)
        Factor on the log-likelihood of each bag.
    n_threads : int
        Threads for the likelihood; the result does not depend on it.
    bag : int ndarray of shape (n_rows,)
        Number of the bag of every row.
    """

    counts: BagCounts
    bag_costs: Floats
    n_threads: int = 1

    def __post_init__(self) -> None:
        counts = self.counts
        self.bag = np.repeat(np.arange(counts.n_bags), counts.sizes)
        self._row_costs = self.bag_costs[self.bag]
        self._noisy = np.flatnonzero(np.diff(counts.weight_starts) > 1)
        if len(self._noisy):
            self._noisy_rows = counts.rows_of(self._noisy)
            self._noisy_counts = counts.take(self._noisy)

    def at(self, scores: Floats) -> CountPoint:
        """Return the loss at the scores of all rows."""
        posterior = count_posterior(scores, self.counts, n_threads=self.n_threads)
        chance = expit(scores)
        variance, weight = self._label_covariance(posterior.variance, self._count_variance(scores))
        return CountPoint(
            log_likelihood=posterior.log_likelihood,
            slope=self._row_costs * (chance - posterior.probability),
            curvature=self._row_costs * (chance * (1.0 - chance) - variance),
            label_variance=variance,
            bag_weight=weight,
        )

    def sum_by_bag(self, values: Floats) -> Floats:
        """Return the sums of numbers of rows over bags."""
        return np.add.reduceat(values, self.counts.starts[:-1])

    def _count_variance(self, scores: Floats) -> Floats:
        """Return the variance of the count of every bag given what is published; (n_bags,)."""
        variance = np.zeros(self.counts.n_bags)
        if len(self._noisy):
            shifted = [
                count_posterior(
                    scores[self._noisy_rows] + shift,
                    self._noisy_counts,
                    n_threads=self.n_threads,
                ).probability
                for shift in (_SHIFT, -_SHIFT)
            ]
            slope = (shifted[0] - shifted[1]) / (2.0 * _SHIFT)
            variance[self._noisy] = np.add.reduceat(slope, self._noisy_counts.starts[:-1])
        return np.maximum(variance, 0.0)

    def _label_covariance(self, marginal: Floats, count_variance: Floats) -> tuple[Floats, Floats]:
        """Return the vector of the outer products, and their factors with the costs in them."""
        total = _nothing_as_one(self.sum_by_bag(marginal))
        known = 1.0 - np.minimum(count_variance / total, 1.0)
        part = known[self.bag] * marginal / total[self.bag]
        variance = marginal / np.maximum(1.0 - part, 0.5)
        total = _nothing_as_one(self.sum_by_bag(variance))
        known = 1.0 - np.minimum(count_variance / total, 1.0)
        return variance, self.bag_costs * known / total


def _nothing_as_one(totals: Floats) -> Floats:
    """Make divisors of sums over bags; a bag without variance is divided by one."""
    return np.where(totals > 1e-100, totals, 1.0)
