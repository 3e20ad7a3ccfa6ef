# SPDX-License-Identifier: BSD-3-Clause
r"""How often a guess of labels by the published numbers alone is right.

The attacker gives every row of a bag the label that is in the majority there, and is right for
:math:`\max(\hat p, 1 - \hat p)` of them. Where something was added to the number, the true count
is known in probability only: its prior is beta-binomial, with the mean and the spread of the
published shares less what noise and chance explain of it, and the guess goes by the posterior.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from bagshift._bags.count_weights import spread
from bagshift._bags.published import published_counts
from bagshift.bags import Bags
from bagshift.inspection._published_noise import noise_variances

FloatArray = NDArray[np.float64]

_SMALLEST_SPREAD = 1e-6


def expected_positives(bags: Bags) -> FloatArray:
    """Return the expected share of positives in each bag, of shape (n_bags,)."""
    shares = bags.clipped_shares.copy()
    noisy = np.flatnonzero(bags.is_noisy)
    if len(noisy):
        shares[noisy] = _posterior_shares(bags)[noisy]
    return shares


def _posterior_shares(bags: Bags) -> FloatArray:
    found = published_counts(bags, warn=False)
    n_rows = bags.rows_per_bag
    lengths = found.lengths
    bag = np.repeat(np.arange(bags.n_bags), lengths)
    counts = spread(found.first_counts, lengths).astype(np.float64)
    log_weights = found.log_weights + _log_prior(counts, n_rows[bag].astype(float), bags)
    starts = found.weight_starts[:-1]
    top = np.maximum.reduceat(log_weights, starts)
    weights = np.exp(log_weights - top[bag])
    mean = np.add.reduceat(weights * counts, starts) / np.add.reduceat(weights, starts)
    return np.asarray(mean / n_rows)


def _log_prior(counts: FloatArray, n_rows: FloatArray, bags: Bags) -> FloatArray:
    mean = overall_share(bags)
    mean = min(max(mean, 1e-6), 1 - 1e-6)
    total = (1 - (rho := _intraclass_spread(bags, mean))) / rho
    first, second = mean * total, (1 - mean) * total
    return np.asarray(
        gammaln(n_rows + 1)
        - gammaln(counts + 1)
        - gammaln(n_rows - counts + 1)
        + betaln(counts + first, n_rows - counts + second)
        - betaln(first, second)
    )


def overall_share(bags: Bags) -> float:
    """Return the published share of positives over all bags, as far as it is possible."""
    weights = bags.rows_per_bag
    mean = bags.positive_shares @ weights / weights.sum()
    return float(np.clip(mean, 0.0, 1.0))


def _intraclass_spread(bags: Bags, mean: float) -> float:
    """Correlation of labels within bags that the spread of shares speaks for, by moments."""
    noise = noise_variances(bags)
    one = mean * (1 - mean)
    # E (p - mean)^2 = one / n + one (1 - 1 / n) rho + noise
    excess = (bags.positive_shares - mean) ** 2 - one / bags.sizes - noise
    weight = 1 / (one / bags.sizes + noise) ** 2 * (1 - 1 / bags.sizes)
    scale = float((weight * one * (1 - 1 / bags.sizes)).sum())
    rho = float((weight * excess).sum()) / scale if scale > 0 else 0.0
    return min(max(rho, _SMALLEST_SPREAD), 1 - _SMALLEST_SPREAD)
