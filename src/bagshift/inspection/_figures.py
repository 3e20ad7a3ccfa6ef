# SPDX-License-Identifier: BSD-3-Clause
r"""Figures of a classifier from probabilities in the place of labels, and by Goodman's regression.

With :math:`r_j` the probability that row :math:`j` is positive, accuracy is the mean of
:math:`r_j` over rows called positive and of :math:`1 - r_j` over the others; the other figures
follow by weighting likewise.

Goodman's regression [1]_ needs no probabilities. With :math:`\hat q_k` the share of rows of bag
:math:`k` called positive and :math:`p_k` the given one,
:math:`p_k \approx \pi_1 \hat q_k + \pi_0 (1 - \hat q_k)`, where :math:`\pi_1` is the share of
positives among rows called positive and :math:`\pi_0` that among the others.

References
----------
.. [1] L. A. Goodman. Ecological regressions and behavior of individuals. American Sociological
   Review 18(6), 1953.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NAMES = (
    "accuracy",
    "sensitivity",
    "specificity",
    "positive_predictive_value",
    "negative_predictive_value",
    "auc",
)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with scores, in bags, ready for figures under many weights.

    Attributes
    ----------
    is_positive : ndarray of shape (n_rows,), bool
        Whether a row is called positive.
    order : ndarray of shape (n_rows,)
        Rows by score.
    tie_starts : ndarray of shape (n_distinct,)
        Where rows of a new score begin in that order.
    """

    is_positive: NDArray[np.bool_]
    order: NDArray[np.int64]
    tie_starts: NDArray[np.int64]

    @classmethod
    def of(cls, scores: Floats, is_positive: NDArray[np.bool_]) -> ScoredRows:
        """Sort rows by their scores towards the positive class."""
        order = np.argsort(scores, kind="stable")
        is_new = np.append(True, np.diff(scores[order]) > 0.0)
        return cls(is_positive, order, np.flatnonzero(is_new))

    def figures(self, probability: Floats, weights: Floats) -> Floats:
        """Return the figures in the order of `NAMES`; NaN where one is not defined.

        Parameters
        ----------
        probability : ndarray of shape (n_rows,)
            Of being positive.
        weights : ndarray of shape (n_rows,)
            How often each row counts.

        Returns
        -------
        ndarray of shape (6,)
        """
        positive, negative = weights * probability, weights * (1.0 - probability)
        called = self.is_positive
        cells = positive[called].sum(), negative[called].sum()
        others = positive[~called].sum(), negative[~called].sum()
        return np.append(_of_cells(*cells, *others), self._auc(positive, negative))

    def _auc(self, positive: Floats, negative: Floats) -> float:
        """Return the chance that a positive row has a higher score than a negative one."""
        ups = np.add.reduceat(positive[self.order], self.tie_starts)
        downs = np.add.reduceat(negative[self.order], self.tie_starts)
        below = np.cumsum(downs) - 0.5 * downs
        pairs = ups.sum() * downs.sum()
        return float(ups @ below / pairs) if pairs > 0.0 else np.nan


def goodman_figures(predicted: Floats, given: Floats, weights: Floats) -> Floats:
    """Return the figures by Goodman's regression in the order of `NAMES`, without an AUC.

    Parameters
    ----------
    predicted, given : ndarray of shape (n_bags,)
        Shares of positives.
    weights : ndarray of shape (n_bags,)
        Rows of each bag, times how often it counts.

    Returns
    -------
    ndarray of shape (6,)
        NaN where predicted shares do not differ.
    """
    weights = weights / weights.sum()
    mean, level = weights @ predicted, weights @ given
    variance = weights @ (predicted - mean) ** 2
    if not variance > 1e-12:
        return np.full(len(NAMES), np.nan)
    slope = weights @ ((predicted - mean) * (given - level)) / variance
    among_called = np.clip(level + slope * (1.0 - mean), 0.0, 1.0)
    among_others = np.clip(level - slope * mean, 0.0, 1.0)
    called, others = float(mean), 1.0 - float(mean)
    up, down = float(among_called), float(among_others)
    cells = called * up, called * (1.0 - up), others * down, others * (1.0 - down)
    return np.append(_of_cells(*cells), np.nan)


def _of_cells(true_up: float, false_up: float, false_down: float, true_down: float) -> Floats:
    """Return the five figures of a table of two by two."""
    total = true_up + false_up + false_down + true_down
    parts = np.array([true_up + true_down, true_up, true_down, true_up, true_down])
    wholes = np.array(
        [
            total,
            true_up + false_down,
            true_down + false_up,
            true_up + false_up,
            true_down + false_down,
        ]
    )
    return np.asarray(
        np.divide(parts, wholes, out=np.full(5, np.nan), where=wholes > 0.0), dtype=np.float64
    )
