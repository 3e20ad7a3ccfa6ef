# SPDX-License-Identifier: BSD-3-Clause
r"""The likelihood of the number of positive rows in a bag, exact for bags of any size.

Row :math:`j` of a bag is positive with probability :math:`\sigma(f_j)`, independently of the
others. The number of positives of a bag then has the Poisson-binomial distribution, and what is
published about it is a *law*: weights :math:`w(c) = P(\text{published} \mid c)` over the true
counts :math:`c`. An exact count is a law with one weight. Rounding, added noise and sampling are
others. For each bag

.. math::

    \log Z = \log \sum_c P(c)\, w(c), \qquad
    \frac{\partial \log Z}{\partial f_j} = r_j - \sigma(f_j), \qquad
    r_j = P(y_j = 1 \mid \text{published}),

because :math:`\partial \log P(y) / \partial f_j = y_j - \sigma(f_j)` for every labelling
:math:`y`, and :math:`r_j` is its average. Learning from such aggregates by likelihood is treated
in [1]_, counts of a bag by dynamic programming in [2]_.

**Tilt.** With :math:`K(\theta) = \sum_j \log(1 - \sigma_j + \sigma_j e^\theta)` and
:math:`s_j = \sigma(f_j + \theta)`,

.. math:: P(c) = e^{K(\theta) - \theta c} P_\theta(c),

where :math:`P_\theta` is the distribution of the count under the chances :math:`s`. The posterior
does not change: all labellings with :math:`c` positives are weighted by the same factor. So
:math:`\theta` is free, and is chosen where :math:`P_\theta` and the law meet: mean of the sum
:math:`K'(\theta) = \sum s_j` equal to the mean of the tilted law :math:`w(c) e^{-\theta c}`, the
minimum of a convex function. For a count :math:`c` this is :math:`K'(\theta) = c`. Nothing
underflows then, however improbable the count. :math:`\theta = 0` is kept where the count is
within two standard deviations of the mean, as it mostly is for a good model. A law with far
apart modes, which no tilt serves, is cut in two and the parts are added.

**Few counts: recursion.** Under the tilt only a band of counts around the mean matters: outside
:math:`\pm t` the mass is below :math:`e^{-t^2 / (2 (v + t/3))}` (Bernstein), with the variance
:math:`v = \sum_j s_j (1 - s_j)`. The distribution is built by convolution with four rows at a
time. Row :math:`j` is then taken out of it again, which gives :math:`P^{-j}_\theta`, the
distribution of the others, and :math:`r_j = s_j P^{-j}_\theta(c - 1) / P_\theta(c)`:

.. math::

    (1 - s_j) P^{-j}(a) = P(a) - s_j P^{-j}(a - 1) \quad (s_j \le \tfrac12), \qquad
    s_j P^{-j}(a) = P(a + 1) - (1 - s_j) P^{-j}(a + 1) \quad (s_j > \tfrac12).

This is division of polynomials, in general unstable. Here it is not: a Poisson-binomial
distribution is unimodal with its mode within 1 of its mean (Darroch [3]_), so up to the count
:math:`P^{-j}` rises for :math:`s_j \le \tfrac12`, the subtrahend is at most half of :math:`P(a)`,
and the error relative to :math:`P^{-j}(a)` grows by a few roundings per step; a tilt that is off
by two standard deviations costs less than a digit more. Forward-backward recursion gives the same
at a multiple of the cost and memory.

**Many counts: nodes.** From :math:`v = 24` on the same numbers come from the characteristic
function :math:`\varphi(u) = \prod_j (1 - s_j + s_j e^{iu})`:

.. math::

    P_\theta(c) = \frac1N \sum_{k=0}^{N-1} \varphi(u_k) e^{-i u_k c}, \qquad
    P_\theta(c, y_j = 1) = \frac1N \sum_{k=0}^{N-1}
    \frac{s_j e^{i u_k}}{1 - s_j + s_j e^{i u_k}} \varphi(u_k) e^{-i u_k c}, \qquad
    u_k = \tfrac{2 \pi k}{N}.

The sum equals :math:`P_\theta(c) + P_\theta(c \pm N) + \dots`, so :math:`N` need only exceed the
half-width of the band; and :math:`|\varphi(u)| \le e^{-v (1 - \cos u)}`, so only nodes near 0
count. Both together leave about a dozen nodes whatever the size of the bag. The saddle-point
approximation :math:`P_\theta(c) \approx (2 \pi v)^{-1/2}` is the integral of
:math:`e^{-v u^2 / 2}` in place of this sum; the sum is exact to rounding, has no range of
validity, and its gradient is exact with it. So bags of 10 and of 100,000 rows have one objective,
without a jump between them.

References
----------
.. [1] Y. Zhang, N. Charoenphakdee, Z. Wu, M. Sugiyama. Learning from aggregate observations.
   Advances in Neural Information Processing Systems 33, 2020.
.. [2] V. Shukla, Z. Zeng, K. Ahmed, G. Van den Broeck. A unified approach to count-based weakly
   supervised learning. Advances in Neural Information Processing Systems 36, 2023.
.. [3] J. N. Darroch. On the distribution of the number of successes in independent trials.
   Annals of Mathematical Statistics 35, 1964.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift import _core

__all__ = ["BagCounts", "CountPosterior", "count_log_probabilities", "count_posterior"]

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BagCounts:
    """What is published about the number of positive rows of each bag.

    Parameters
    ----------
    starts : ndarray of shape (n_bags + 1,), int64
        Rows stand bag by bag: bag k has rows ``starts[k]`` to ``starts[k + 1]``, at least one.
    first_counts : ndarray of shape (n_bags,), int64
        The lowest true count that has a weight.
    weight_starts : ndarray of shape (n_bags + 1,), int64
        Where the weights of a bag lie in `log_weights`, at least one for each bag.
    log_weights : ndarray, float64
        log P(published | true count) of the counts ``first_counts[k]``, ``first_counts[k] + 1``,
        and so on; ``-inf`` for an impossible one. Counts below 0 and above the size of the bag
        play no part.

    Raises
    ------
    ValueError
        When the arrays do not fit each other, or a bag has no possible count.
    """

    starts: IntArray
    first_counts: IntArray
    weight_starts: IntArray
    log_weights: Array

    def __post_init__(self) -> None:
        for name in ("starts", "first_counts", "weight_starts"):
            object.__setattr__(self, name, _to_integers(name, getattr(self, name)))
        log_weights = np.ascontiguousarray(self.log_weights, dtype=np.float64)
        object.__setattr__(self, "log_weights", log_weights)
        if log_weights.ndim != 1:
            raise ValueError(f"log_weights must have one axis: its shape is {log_weights.shape}.")
        _check_starts("starts", self.starts, self.n_bags, self.n_rows)
        _check_starts("weight_starts", self.weight_starts, self.n_bags, log_weights.size)
        if not (log_weights < np.inf).all():
            raise ValueError("log_weights must be numbers or -inf.")
        self._check_possible()

    def _check_possible(self) -> None:
        if not self.n_bags:
            return
        steps = np.arange(self.log_weights.size)
        counts = steps - np.repeat(self.weight_starts[:-1] - self.first_counts, self._n_weights)
        sizes = np.repeat(np.diff(self.starts), self._n_weights)
        possible = (counts >= 0) & (counts <= sizes) & np.isfinite(self.log_weights)
        hopeless = ~np.logical_or.reduceat(possible, self.weight_starts[:-1])
        if hopeless.any():
            bag = int(np.flatnonzero(hopeless)[0])
            size = int(self.starts[bag + 1] - self.starts[bag])
            raise ValueError(f"No count from 0 to {size} is possible in bag number {bag}.")

    def between(self, first: int, end: int) -> Self:
        """Return the bags from one number on, up to another; they are not checked again.

        Parameters
        ----------
        first, end : int

        Returns
        -------
        BagCounts
        """
        weights = slice(self.weight_starts[first], self.weight_starts[end])
        part = object.__new__(type(self))
        part.__dict__.update(
            starts=self.starts[first : end + 1] - self.starts[first],
            first_counts=self.first_counts[first:end],
            weight_starts=self.weight_starts[first : end + 1] - weights.start,
            log_weights=self.log_weights[weights],
        )
        return part

    @classmethod
    def exact(cls, counts: ArrayLike, sizes: ArrayLike) -> Self:
        """Exact numbers of positive rows.

        Parameters
        ----------
        counts : array-like of shape (n_bags,)
            Number of positive rows of each bag.
        sizes : array-like of shape (n_bags,)
            Number of rows of each bag, at least 1.

        Returns
        -------
        BagCounts

        Raises
        ------
        ValueError
            When a count is not a whole number from 0 to the size of its bag.

        Examples
        --------
        >>> BagCounts.exact([1, 0], [2, 3]).starts
        array([0, 2, 5])
        """
        counts = _to_integers("counts", counts)
        sizes = _to_integers("sizes", sizes)
        if counts.shape != sizes.shape:
            raise ValueError(
                f"counts and sizes must have one length: {counts.size} and {sizes.size}."
            )
        return cls(
            starts=_to_starts(sizes),
            first_counts=counts,
            weight_starts=np.arange(counts.size + 1),
            log_weights=np.zeros(counts.size),
        )

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return self.first_counts.size

    @property
    def n_rows(self) -> int:
        """Number of rows in all bags."""
        return int(self.starts[-1]) if self.starts.size else 0

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each bag, shape (n_bags,)."""
        return np.diff(self.starts)

    @property
    def _n_weights(self) -> IntArray:
        return np.diff(self.weight_starts)

    def take(self, bags: ArrayLike) -> Self:
        """Choose some of the bags, in the order given.

        Parameters
        ----------
        bags : array-like of int
            Numbers of bags, from 0.

        Returns
        -------
        BagCounts
            Its rows are the rows of those bags, one bag after the other.

        Examples
        --------
        >>> counts = BagCounts.exact([1, 0, 2], [2, 3, 4])
        >>> counts.take([2, 0]).first_counts, counts.take([2, 0]).starts
        (array([2, 1]), array([0, 4, 6]))
        """
        chosen = _to_integers("bags", bags)
        n_weights = self._n_weights[chosen]
        weight_starts = _to_starts(n_weights)
        offsets = np.repeat(self.weight_starts[chosen] - weight_starts[:-1], n_weights)
        return type(self)(
            starts=_to_starts(self.sizes[chosen]),
            first_counts=self.first_counts[chosen],
            weight_starts=weight_starts,
            log_weights=self.log_weights[np.arange(weight_starts[-1]) + offsets],
        )

    def rows_of(self, bags: ArrayLike) -> IntArray:
        """Return the numbers of the rows of some of the bags, bag by bag in the order given.

        Parameters
        ----------
        bags : array-like of int
            Numbers of bags, from 0.

        Returns
        -------
        ndarray of int64

        Examples
        --------
        >>> BagCounts.exact([1, 0, 2], [2, 3, 4]).rows_of([2, 0])
        array([5, 6, 7, 8, 0, 1])
        """
        chosen = _to_integers("bags", bags)
        starts = _to_starts(self.sizes[chosen])
        return np.arange(starts[-1]) + np.repeat(
            self.starts[chosen] - starts[:-1], self.sizes[chosen]
        )


@dataclass(frozen=True, eq=False)
class CountPosterior:
    """Likelihood of what is published, and the rows given that.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n_bags,)
        log P(published | scores) of each bag; at most 0 for exact counts.
    probability : ndarray of shape (n_rows,)
        P(y = 1 | published, scores) of each row. The derivative of `log_likelihood` in the score
        of the row is this minus the sigmoid of the score.
    """

    log_likelihood: Array
    probability: Array

    @property
    def variance(self) -> Array:
        """Variance of each label given what is published, shape (n_rows,); 0 in pure bags."""
        return self.probability * (1.0 - self.probability)


def count_posterior(scores: ArrayLike, counts: BagCounts, *, n_threads: int = 1) -> CountPosterior:
    """Log-likelihood of every bag and posterior probability of every row.

    Exact to rounding for bags of any size and for any finite scores. Pure bags have closed forms.
    The cost is about (size x half-width of the band) operations for a small bag and a few hundred
    operations per row for a large one, and memory grows with the largest bag only linearly.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Log-odds of every row, bag by bag.
    counts : BagCounts
        What is published about the bags.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    CountPosterior

    Raises
    ------
    ValueError
        When scores are not finite or their number does not fit the bags.

    Examples
    --------
    One of two rows is positive, and the first is the likelier one:

    >>> posterior = count_posterior([1.0, 0.0], BagCounts.exact([1], [2]))
    >>> posterior.probability.round(3), posterior.log_likelihood.round(3)
    (array([0.731, 0.269]), array([-0.693]))
    """
    scores = _to_scores(scores)
    if scores.shape != (counts.n_rows,):
        raise ValueError(
            f"scores must have shape ({counts.n_rows},), one for each row of the bags: "
            f"its shape is {scores.shape}."
        )
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1: {n_threads}.")
    log_likelihood, probability = _core.count_posterior(
        scores=scores,
        starts=counts.starts,
        first_counts=counts.first_counts,
        weight_starts=counts.weight_starts,
        log_weights=counts.log_weights,
        n_threads=n_threads,
    )
    return CountPosterior(log_likelihood=log_likelihood, probability=probability)


def count_log_probabilities(scores: ArrayLike) -> Array:
    """Log-probabilities of all numbers of positive rows in one bag.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Log-odds of the rows of the bag.

    Returns
    -------
    ndarray of shape (n_rows + 1,)
        log P(c) for c = 0, ..., n_rows, to rounding even where P(c) is too small for a number.

    Raises
    ------
    ValueError
        When there is no row, or scores are not finite.

    Examples
    --------
    >>> np.exp(count_log_probabilities([0.0, 0.0]))
    array([0.25, 0.5 , 0.25])
    """
    scores = _to_scores(scores)
    if scores.ndim != 1 or not scores.size:
        raise ValueError(
            f"scores must be a vector of at least 1 row: its shape is {scores.shape}."
        )
    return _core.count_log_probabilities(scores)


def _to_scores(scores: ArrayLike) -> Array:
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("scores holds values that are not finite.")
    return scores


def _to_integers(name: str, values: ArrayLike) -> IntArray:
    given = np.asarray(values)
    if given.ndim != 1:
        raise ValueError(f"{name} must have one axis: its shape is {given.shape}.")
    integers = np.ascontiguousarray(given, dtype=np.int64)
    if not np.array_equal(integers, given):
        raise ValueError(f"{name} must hold whole numbers.")
    return integers


def _to_starts(lengths: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])


def _check_starts(name: str, starts: IntArray, n_bags: int, total: int) -> None:
    if starts.size != n_bags + 1:
        raise ValueError(
            f"{name} must have length {n_bags + 1}, one more than bags: {starts.size}."
        )
    if starts[0] != 0 or starts[-1] != total:
        raise ValueError(f"{name} must run from 0 to {total}.")
    if (np.diff(starts) < 1).any():
        raise ValueError(f"{name} must rise from bag to bag.")
