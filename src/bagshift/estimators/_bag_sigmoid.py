# SPDX-License-Identifier: BSD-3-Clause
r"""Platt's sigmoid for scores of a machine, fitted to the numbers of bags instead of labels.

With :math:`P(y_j = 1) = \sigma(a f_j + b)`, :math:`a > 0`, the number published for a bag has an
exact likelihood (:mod:`bagshift.solvers.count_likelihood`), and :math:`a` and :math:`b` are chosen
to make that of all bags greatest. Rows that the scores tell apart without a mistake would let the
slope grow without bound; as Platt's smoothed targets do, every row counts a little for both
classes, all rows together like one row of each class: with :math:`g_j = a f_j + b`,
:math:`\tfrac1N\sum_j \log\sigma(g_j) + \log\sigma(-g_j)` is added. With bags of one row it is
nearly his method [1]_.

References
----------
.. [1] J. Platt, Probabilistic outputs for support vector machines and comparisons to regularized
   likelihood methods, 1999.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from bagshift.exceptions import ReversedScoresWarning, warn_caller
from bagshift.solvers.count_likelihood import BagCounts, count_posterior

Floats = NDArray[np.float64]

# Slopes tried first, in log odds per standard deviation of the scores.
_FIRST_SLOPES = (0.5, 2.0, 8.0)
# A slope as small says that rows cannot be told apart.
_LEAST_CERTAIN = 1e-3


def fit_bag_sigmoid(scores: Floats, counts: BagCounts, weights: Floats) -> tuple[float, float]:
    """Return slope and shift that make the published numbers likeliest.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Bag by bag, growing towards the class that the numbers are of.
    counts : BagCounts
        What is published about the bags.
    weights : ndarray of shape (n_bags,)
        Factors on their log-likelihood.

    Returns
    -------
    slope, shift : float
        The slope is positive.

    Raises
    ------
    ValueError
        When scores are too large to be squared.

    Warns
    -----
    ReversedScoresWarning
        When no positive slope is likelier than none.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centre, spread = float(scores.mean()), float(scores.std())
    if not np.isfinite(spread):
        raise ValueError("Some scores are so large that their squares are not finite.")
    spread = spread if spread > 0 else 1.0
    standard, row_weights = (scores - centre) / spread, np.repeat(weights, counts.sizes)

    def loss(at: Floats) -> tuple[float, Floats]:
        log_odds = at[0] * standard + at[1]
        found = count_posterior(log_odds, counts)
        push = row_weights * (expit(log_odds) - found.probability)
        push += (2.0 * expit(log_odds) - 1.0) / len(scores)
        doubt = np.mean(np.logaddexp(0.0, log_odds) + np.logaddexp(0.0, -log_odds))
        value = float(doubt - weights @ found.log_likelihood)
        return value, np.array([push @ standard, push.sum()])

    bounds = [(_LEAST_CERTAIN, None), (None, None)]
    ends = [
        minimize(loss, [slope, 0.0], jac=True, method="L-BFGS-B", bounds=bounds)
        for slope in _FIRST_SLOPES
    ]
    slope, shift = min(ends, key=lambda end: float(end.fun)).x
    if slope <= 2.0 * _LEAST_CERTAIN:
        warn_caller(
            "The shares of the bags do not grow with the scores, so probabilities tell rows apart "
            "hardly at all; the machine may have adapted to the wrong way round.",
            ReversedScoresWarning,
        )
    return float(slope / spread), float(shift - slope * centre / spread)
