# SPDX-License-Identifier: BSD-3-Clause
r"""How far shares spread, against what random grouping of the same individuals would give.

If individuals came into bags by chance, the share of a bag of :math:`n_k` has the variance
:math:`v_k = p(1-p)/n_k` about the overall share, and that of its noise on top. The ratio is

.. math:: R = \frac{1}{d-1} \sum_k \frac{(p_k - \bar p)^2}{v_k},

by its mean under random grouping, which is 1 but for the rounding of small counts (Pearson's
statistic by its degrees of freedom). What chance does to it is found by drawing random groupings
with the noise laws of the bags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from bagshift.bags import Bags
from bagshift.inspection._interval import Interval
from bagshift.inspection._majority_attack import overall_share
from bagshift.inspection._published_noise import noise_variances, publish

FloatArray = NDArray[np.float64]

_MOST_NUMBERS = 4_000_000
_MOST_DRAWS, _FEWEST_DRAWS = 4000, 40
_ENOUGH_FOR_QUANTILES = 1000
_TWO_SIDED = 1.959964


@dataclass(frozen=True)
class ShareSpread:
    """What the spread of shares says of how individuals came into bags.

    Attributes
    ----------
    deviation : float
        Standard deviation of the published shares, bags weighted by what chance does to them.
    by_chance : float
        What it would be under random grouping, noise included.
    by_noise : float
        What noise alone explains of it.
    ratio : Interval
        Variance of shares over that of random grouping, with a 95 % interval.
    of_random_bags : tuple of float
        Between which numbers the ratios of 95 % of random groupings lie.
    p_value : float
        How often a random grouping has a ratio at least as far from the middle.
    """

    deviation: float
    by_chance: float
    by_noise: float
    ratio: Interval
    of_random_bags: tuple[float, float]
    p_value: float

    @property
    def is_wide(self) -> bool:
        """Whether shares spread more than random grouping explains."""
        return self.ratio.estimate > self.of_random_bags[1]

    @property
    def is_narrow(self) -> bool:
        """Whether shares are more alike than random grouping makes them."""
        return self.ratio.estimate < self.of_random_bags[0]


def share_spread(bags: Bags, random_state: int = 0) -> ShareSpread | None:
    """Compare the spread of shares with that of random groupings.

    Parameters
    ----------
    bags : Bags
    random_state : int, default=0
        Of the random groupings.

    Returns
    -------
    ShareSpread or None
        None where there is nothing to compare: one bag, or an overall share of 0 or 1.
    """
    overall = overall_share(bags)
    if bags.n_bags < 2 or overall in (0.0, 1.0):
        return None
    noise = noise_variances(bags)
    variances = overall * (1 - overall) / bags.sizes + noise
    terms = _terms(bags.positive_shares[None], variances)[0]
    drawn = _random_ratios(bags, overall, variances, random_state)
    middle = float(drawn.mean())
    terms, drawn = terms / middle, drawn / middle
    estimate = float(terms.sum() / (bags.n_bags - 1))
    low, high, p_value = _place(estimate, drawn)
    weights = 1 / (variances * middle)
    by_chance = np.sqrt(bags.n_bags / weights.sum())
    return ShareSpread(
        deviation=float(by_chance * np.sqrt(estimate)),
        by_chance=float(by_chance),
        by_noise=float(np.sqrt((noise * weights).sum() / weights.sum())),
        ratio=_interval(terms, estimate),
        of_random_bags=(low, high),
        p_value=p_value,
    )


def _terms(shares: FloatArray, variances: FloatArray) -> FloatArray:
    """Return squared distances from the best overall share, each by its variance."""
    weights = 1 / variances
    middle = shares @ weights / weights.sum()
    return np.asarray((shares - middle[:, None]) ** 2 * weights)


def _random_ratios(
    bags: Bags, overall: float, variances: FloatArray, random_state: int
) -> FloatArray:
    random = np.random.default_rng(random_state)
    n_draws = int(np.clip(_MOST_NUMBERS // bags.n_bags, _FEWEST_DRAWS, _MOST_DRAWS))
    at_once = max(1, _MOST_NUMBERS // bags.n_bags)
    sizes = bags.sizes.astype(np.int64)
    ratios = []
    for start in range(0, n_draws, at_once):
        n_now = min(at_once, n_draws - start)
        counts = random.binomial(sizes, overall, size=(n_now, bags.n_bags)).astype(np.float64)
        terms = _terms(publish(counts, bags, random), variances)
        ratios.append(terms.sum(axis=1) / (bags.n_bags - 1))
    return np.concatenate(ratios)


def _place(estimate: float, drawn: FloatArray) -> tuple[float, float, float]:
    """Say where 95 % of the random ratios lie, and how rare one as far off is."""
    if len(drawn) < _ENOUGH_FOR_QUANTILES:  # of thousands of bags: the sum is normal
        middle, deviation = float(drawn.mean()), float(drawn.std())
        reach = _TWO_SIDED * deviation
        far = abs(estimate - middle) / deviation if deviation > 0 else 0.0
        return middle - reach, middle + reach, float(erfc(far / np.sqrt(2)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    above, below = (drawn >= estimate).sum(), (drawn <= estimate).sum()
    return float(low), float(high), float(min(1.0, 2 * (min(above, below) + 1) / (len(drawn) + 1)))


def _interval(terms: FloatArray, estimate: float) -> Interval:
    """Return the interval of a mean of terms over bags, on the scale of its logarithm."""
    if estimate <= 0:
        return Interval(estimate, 0.0, 0.0)
    error = terms.std(ddof=1) * np.sqrt(len(terms)) / (len(terms) - 1)
    factor = float(np.exp(_TWO_SIDED * error / estimate))
    return Interval(estimate, estimate / factor, estimate * factor)
