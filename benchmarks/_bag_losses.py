# SPDX-License-Identifier: BSD-3-Clause
r"""Expectation-maximisation as a loss of a bag with a known share, for the benchmarks only.

For a bag with scores f, m rows and share p, labels are replaced by s_j = sigma(f_j + theta), where
the shift theta of the log-odds makes their mean the share, then logistic regression is fitted to
them. Both steps descend on

.. math:: J(f) = \min_{s:\ \sum_j s_j = m p} \sum_j \mathrm{KL}(s_j \,\|\, \sigma(f_j)),

the first over s, the second over the weights. Here L-BFGS minimises J over the weights with s at
its minimum, whose gradient is sigma(f_j) - s_j: same stationary points, fewer steps.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bagshift.solvers.score_losses import BagShares

Floats = NDArray[np.float64]


# From scores and bags to the loss of every bag and its derivative in every score.
BagLoss = Callable[[Floats, BagShares], tuple[Floats, Floats]]


def expectation_maximisation(scores: Floats, bags: BagShares) -> tuple[Floats, Floats]:
    """Divergence from the model of the closest labels with the share of the bag."""
    theta = log_odds_shift(scores, bags)
    shifted = scores + bags.spread(theta)
    # Pure bags need an infinite shift: their labels are known.
    is_pure = (bags.shares <= 0.0) | (bags.shares >= 1.0)
    sign = bags.spread(np.where(bags.shares >= 1.0, -1.0, 1.0))
    known = bags.sum(np.logaddexp(0.0, sign * scores))
    loss = theta * bags.shares * bags.sizes - bags.sum(
        np.logaddexp(0.0, shifted) - np.logaddexp(0.0, scores)
    )
    labels = np.where(bags.spread(is_pure), bags.spread(bags.shares), expit(shifted))
    return np.where(is_pure, known, loss), expit(scores) - labels


def log_odds_shift(scores: Floats, bags: BagShares) -> Floats:
    """Return for every bag the shift of the log-odds that makes their mean its share.

    Newton's method on the log-odds of the mean, which are almost linear in the shift, in a
    shrinking bracket; 0 for pure bags.
    """
    is_pure = (bags.shares <= 0.0) | (bags.shares >= 1.0)
    shares = np.where(is_pure, 0.5, bags.shares)
    wanted = logit(shares)
    low = wanted - np.maximum.reduceat(scores, bags.starts)
    high = wanted - np.minimum.reduceat(scores, bags.starts)
    theta = np.clip(0.0, low, high)
    for _ in range(100):
        tilted = expit(scores + bags.spread(theta))
        mean = bags.sum(tilted) / bags.sizes
        if np.all(is_pure | (np.abs(mean - shares) <= 1e-10)):
            break
        low, high = np.where(mean < shares, theta, low), np.where(mean > shares, theta, high)
        slope = bags.sum(tilted * (1.0 - tilted)) / bags.sizes / (mean * (1.0 - mean))
        step = theta - (logit(mean) - wanted) / np.maximum(slope, 1e-300)
        theta = np.where((step > low) & (step < high), step, 0.5 * (low + high))
    return np.where(is_pure, 0.0, theta)
