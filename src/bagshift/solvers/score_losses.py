# SPDX-License-Identifier: BSD-3-Clause
r"""Losses of the scores of rows, with exact first and second derivatives.

A linear machine is trained on scores :math:`f_j`; what it is asked for is a loss of them. Every
loss here gives its value, its slope and products with its second derivative, which is what
Newton's method in :mod:`bagshift.solvers.linear_heads` takes. With
:math:`\sigma(t) = 1/(1 + e^{-t})` and :math:`\bar h_k` the mean of :math:`\sigma(f_j)` over the
rows of bag :math:`k`:

* :class:`TargetedLogistic`: :math:`\sum_j \omega_j (\log(1 + e^{f_j}) - t_j f_j)`, logistic
  regression on targets :math:`t_j`, which need be neither 0 nor 1 nor between them;
* :class:`MeanProbabilityLoss`: :math:`\sum_k C_k\, g_k(\bar h_k)` for a divergence :math:`g_k`
  from the share of the bag;
* :class:`SquaredSums`: :math:`\sum_r C_r (a_r^\top f)^2`;
* :class:`LossSum` and :class:`LossBlocks` put losses together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

# Mean probabilities below this are taken as this, so that logarithms and divisions by their
# squares stay finite; all scores of a bag have to be below -320.
_SMALLEST_MEAN = 1e-140


@dataclass(frozen=True, eq=False)
class LossPoint:
    """A loss at given scores.

    Parameters
    ----------
    value : float
    slope : ndarray of shape (n_rows,)
        Its derivative in every score.
    bend : callable
        From a change of the scores to the change of the slope, to first order.
    """

    value: float
    slope: Floats
    bend: Callable[[Floats], Floats]


class ScoreLoss(Protocol):
    """A loss of the scores of rows."""

    def at(self, scores: Floats) -> LossPoint:
        """Return the loss at given scores."""


@dataclass(frozen=True, eq=False)
class BagShares:
    """Rows that stand bag by bag, and the share of every bag.

    Parameters
    ----------
    starts, sizes : ndarray of shape (n_bags,)
        First row and number of rows of every bag, which is at least one.
    shares : ndarray of shape (n_bags,)
        Share of positives in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> bags = BagShares(np.array([0, 2]), np.array([2, 1]), np.array([0.5, 1.0]))
    >>> bags.sum(np.array([1.0, 2.0, 4.0]))
    array([3., 4.])
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shares: Floats

    @classmethod
    def of_sizes(cls, sizes: NDArray[Any], shares: Floats) -> BagShares:
        """Return bags of given sizes whose rows follow one another.

        Parameters
        ----------
        sizes : ndarray of shape (n_bags,)
        shares : ndarray of shape (n_bags,)

        Returns
        -------
        BagShares
        """
        sizes = np.asarray(sizes, dtype=np.int64)
        return cls(np.cumsum(sizes) - sizes, sizes, shares)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of values of rows over every bag.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_bags,)
        """
        if not len(self.starts):
            return np.zeros(0)
        return np.asarray(np.add.reduceat(values, self.starts))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for every row the value of its bag.

        Parameters
        ----------
        values : ndarray of shape (n_bags,)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.repeat(values, self.sizes)


# Rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TargetedLogistic:
    r"""Logistic loss with real targets, :math:`\sum_j \omega_j (\log(1 + e^{f_j}) - t_j f_j)`.

    Targets 1 and 0 are labels. The loss is convex for all targets; it is
    :math:`t_j \log(1 + e^{-f_j}) + (1 - t_j) \log(1 + e^{f_j})`, whatever the sign of the factors.

    Parameters
    ----------
    targets, weights : ndarray of shape (n_rows,)
    """

    targets: Floats
    weights: Floats

    def at(self, scores: Floats) -> LossPoint:
        """Return the loss at given scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)

        Returns
        -------
        LossPoint
        """
        chance = expit(scores)
        curvature = self.weights * chance * expit(-scores)
        return LossPoint(
            value=float(self.weights @ (np.logaddexp(0.0, scores) - self.targets * scores)),
            slope=self.weights * (chance - self.targets),
            bend=lambda change: curvature * change,
        )


# Bags -------------------------------------------------------------------------------------


class Divergences(NamedTuple):
    """Divergence of every bag's mean probability from its share, and two derivatives in it.

    Parameters
    ----------
    value, slope, curvature : ndarray of shape (n_bags,)
    """

    value: Floats
    slope: Floats
    curvature: Floats


# From the mean probability of every bag, one minus it, and the bags.
Divergence = Callable[[Floats, Floats, BagShares], Divergences]


def cross_entropy(mean: Floats, rest: Floats, bags: BagShares) -> Divergences:
    r"""Return :math:`-m_k (p_k \log \bar h_k + (1 - p_k) \log(1 - \bar h_k))` of every bag.

    Parameters
    ----------
    mean, rest : ndarray of shape (n_bags,)
        Mean probability of the positive class and of the other one.
    bags : BagShares
        Gives the shares :math:`p_k` and the sizes :math:`m_k`.

    Returns
    -------
    Divergences

    Examples
    --------
    >>> import numpy as np
    >>> bags = BagShares.of_sizes(np.array([4]), np.array([0.5]))
    >>> cross_entropy(np.array([0.5]), np.array([0.5]), bags).value.round(3)
    array([2.773])
    """
    mean, rest = np.maximum(mean, _SMALLEST_MEAN), np.maximum(rest, _SMALLEST_MEAN)
    sizes, shares = bags.sizes, bags.shares
    positive, negative = shares / mean, (1.0 - shares) / rest
    return Divergences(
        value=-sizes * (shares * np.log(mean) + (1.0 - shares) * np.log(rest)),
        slope=sizes * (negative - positive),
        curvature=sizes * (positive / mean + negative / rest),
    )


@dataclass(frozen=True, eq=False)
class MeanProbabilityLoss:
    r"""Loss of the mean probability of every bag, :math:`\sum_k C_k\, g_k(\bar h_k)`.

    Not convex in the scores, unless every bag has one row.

    Parameters
    ----------
    bags : BagShares
    costs : ndarray of shape (n_bags,)
    divergence : callable
        Such as :func:`cross_entropy`.
    """

    bags: BagShares
    costs: Floats
    divergence: Divergence

    def at(self, scores: Floats) -> LossPoint:
        """Return the loss at given scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)

        Returns
        -------
        LossPoint
        """
        bags = self.bags
        chance, doubt = expit(scores), expit(-scores)
        found = self.divergence(bags.sum(chance) / bags.sizes, bags.sum(doubt) / bags.sizes, bags)
        change_of_mean = chance * doubt / bags.spread(bags.sizes)
        slope = bags.spread(self.costs * found.slope)
        straight = slope * change_of_mean * (doubt - chance)
        curvature = self.costs * found.curvature

        def bend(change: Floats) -> Floats:
            by_bag = curvature * bags.sum(change_of_mean * change)
            return np.asarray(straight * change + bags.spread(by_bag) * change_of_mean)

        return LossPoint(float(self.costs @ found.value), slope * change_of_mean, bend)


def proportion_matching(scores: Floats, bags: BagShares) -> tuple[Floats, Floats]:
    """Cross-entropy between share and mean probability, times the number of rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Log odds of rows, bag by bag.
    bags : BagShares

    Returns
    -------
    losses : ndarray of shape (n_bags,)
        The loss of every bag.
    slopes : ndarray of shape (n_rows,)
        Its derivative in the score of every row.
    """
    chance, doubt = expit(scores), expit(-scores)
    found = cross_entropy(bags.sum(chance) / bags.sizes, bags.sum(doubt) / bags.sizes, bags)
    return found.value, bags.spread(found.slope / bags.sizes) * chance * doubt


# Sums -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SquaredSums:
    r"""Squares of weighted sums of scores, :math:`\sum_r C_r (a_r^\top f)^2`.

    Parameters
    ----------
    sums : matrix of shape (n_sums, n_rows)
        The weights :math:`a_r`, dense or sparse.
    costs : ndarray of shape (n_sums,)
    """

    sums: Any
    costs: Floats

    def at(self, scores: Floats) -> LossPoint:
        """Return the loss at given scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)

        Returns
        -------
        LossPoint
        """
        found = self.sums @ scores

        def bend(change: Floats) -> Floats:
            return np.asarray(self.sums.T @ (2.0 * self.costs * (self.sums @ change)))

        slope = np.asarray(self.sums.T @ (2.0 * self.costs * found))
        return LossPoint(float(self.costs @ found**2), slope, bend)


@dataclass(frozen=True, eq=False)
class LossSum:
    """Sum of losses of the same scores.

    Parameters
    ----------
    losses : tuple of ScoreLoss
    """

    losses: tuple[ScoreLoss, ...]

    def at(self, scores: Floats) -> LossPoint:
        """Return the loss at given scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)

        Returns
        -------
        LossPoint
        """
        points = [loss.at(scores) for loss in self.losses]
        return LossPoint(
            value=sum(point.value for point in points),
            slope=np.sum([point.slope for point in points], axis=0),
            bend=lambda change: np.sum([point.bend(change) for point in points], axis=0),
        )


@dataclass(frozen=True, eq=False)
class LossBlocks:
    """Sum of losses, each of its own block of the scores.

    Parameters
    ----------
    losses : tuple of ScoreLoss
    sizes : tuple of int
        Rows of each block, in order.
    """

    losses: tuple[ScoreLoss, ...]
    sizes: tuple[int, ...]

    def at(self, scores: Floats) -> LossPoint:
        """Return the loss at given scores.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)

        Returns
        -------
        LossPoint
        """
        cuts = np.cumsum(self.sizes)[:-1]
        parts = zip(self.losses, np.split(scores, cuts), strict=True)
        points = [loss.at(part) for loss, part in parts]

        def bend(change: Floats) -> Floats:
            changes = zip(points, np.split(change, cuts), strict=True)
            return np.concatenate([point.bend(part) for point, part in changes])

        return LossPoint(
            value=sum(point.value for point in points),
            slope=np.concatenate([point.slope for point in points]),
            bend=bend,
        )
