# SPDX-License-Identifier: BSD-3-Clause
r"""What two-sided geometric noise costs: the counts, a guess by majority, what can be learned.

With :math:`q = e^{-\varepsilon}` the noise :math:`k` has
:math:`P(k) = \frac{1-q}{1+q} q^{|k|}`, mean distance :math:`\frac{2q}{1-q^2}` and variance
:math:`\frac{2q}{(1-q)^2}`. How much it leaves to learn from is worked out in
`bagshift.inspection._kept_information`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bagshift.inspection._kept_information import ACCURACY, kept_information
from bagshift.inspection._league_losses import LossRange, loss_range

FloatArray = NDArray[np.float64]

LARGEST_ALIKE = 32.0
"""Up to exact bags of so many rows, noise was found to cost about as much as they do."""


@dataclass(frozen=True)
class NoiseCost:
    r"""What `bagshift.noise_counts` would cost one release.

    Attributes
    ----------
    epsilon : float
        Parameter of the noise of each count.
    mean_shift : float
        By how much a count is moved on average.
    share_deviation : float
        Standard deviation of the noise of a share, in the bag of median size.
    attack_accuracy : float
        Expected accuracy of a guess by the majority that the noisy counts show; for exact ones
        see `ReleasePrivacy.attack_accuracy`.
    kept_information : float
        Part of the information in the counts that is left for a machine of the accuracy
        reckoned with, from 0 to 1; mean over bags.
    effective_bags : float
        How many exact bags the noisy ones are worth.
    like_bags_of : float
        Size of exact bags of the same rows that are worth as much.
    loss_before, loss_after : LossRange
        Points of accuracy on fresh rows that bags of these sizes cost in the library's league,
        exact ones as they are and exact ones of `like_bags_of` rows: an estimate, from figures
        of other data. Where bags of more than 32 rows are worth as much, noise costs more.
    """

    epsilon: float
    mean_shift: float
    share_deviation: float
    attack_accuracy: float
    kept_information: float
    effective_bags: float
    like_bags_of: float
    loss_before: LossRange
    loss_after: LossRange


def noise_cost(
    shares: FloatArray, sizes: FloatArray, epsilon: float, accuracy: float = ACCURACY
) -> NoiseCost:
    """Work out the cost of noise for bags.

    Parameters
    ----------
    shares, sizes : ndarray of shape (n_bags,)
        Exact shares, and rows.
    epsilon : float
    accuracy : float, default=0.9
        To reckon with.

    Returns
    -------
    NoiseCost
    """
    q = np.exp(-epsilon)
    variance = 2 * q / np.expm1(-epsilon) ** 2
    overall = float(shares @ sizes / sizes.sum())
    kept = kept_information(sizes, sizes, overall, variance, accuracy)
    size = float(np.median(sizes))
    mean_kept = float(kept.mean())
    # With nothing left the bags are as good as one bag of all rows.
    like = min(size / max(mean_kept, 1e-12), float(sizes.sum()))
    return NoiseCost(
        epsilon=float(epsilon),
        mean_shift=float(2 * q / -np.expm1(-2 * epsilon)),
        share_deviation=float(np.sqrt(variance) / size),
        attack_accuracy=noisy_attack_accuracy(np.rint(shares * sizes), sizes, epsilon),
        kept_information=mean_kept,
        effective_bags=float(kept.sum()),
        like_bags_of=like,
        loss_before=loss_range(size),
        loss_after=loss_range(like),
    )


def noisy_attack_accuracy(counts: FloatArray, sizes: FloatArray, epsilon: float) -> float:
    """Return the expected accuracy of guessing the majority label by the noisy counts.

    Parameters
    ----------
    counts, sizes : ndarray of shape (n_bags,)
    epsilon : float

    Returns
    -------
    float
        Where the noisy count is half the size, either label is guessed with even chances.
    """
    half = sizes / 2
    above = _tail(np.floor(half - counts) + 1, epsilon)
    below = _tail(np.floor(counts - half) + 1, epsilon)
    right = above * counts + below * (sizes - counts) + (1 - above - below) * half
    return float(right.sum() / sizes.sum())


def _tail(first: FloatArray, epsilon: float) -> FloatArray:
    """Probability that the noise is `first`, a whole number, or more."""
    q = np.exp(-epsilon)
    # The two halves are each evaluated where they do not overflow.
    upper = q ** np.maximum(first, 1) / (1 + q)
    lower = 1 - q ** np.maximum(1 - first, 1) / (1 + q)
    return np.asarray(np.where(first >= 1, upper, lower))
