# SPDX-License-Identifier: BSD-3-Clause
r"""The likelihood of the numbers of rows of each class in a bag, for more than two classes.

Row :math:`j` of a bag is of class :math:`c` with probability :math:`\mathrm{softmax}(f_j)_c`,
independently of the others, and the bag is known to have :math:`n_c` rows of class :math:`c`. As
with two classes (:mod:`bagshift.solvers.count_likelihood`)

.. math:: \frac{\partial \log P(n)}{\partial f_{jc}} = r_{jc} - \mathrm{softmax}(f_j)_c, \qquad
    r_{jc} = P(y_j = c \mid n).

The scores are tilted first, :math:`s_j = \mathrm{softmax}(f_j + \theta)` with
:math:`\sum_j s_j = n` (:mod:`bagshift.solvers._class_tilt`): the posterior does not change, and
nothing underflows.

**Exact**, where the product of :math:`n_c + 1` over all classes but the most frequent one is at
most ``MOST_STATES``: forward and backward recursion over all smaller numbers of the classes. A bag
of 8 rows of 8 classes has 128 of them.

**Approximate** beyond. The local limit of :math:`P_\theta(n)` is
:math:`(2\pi)^{-(m-1)/2} |\Sigma|^{-1/2}` with :math:`m` classes in the bag and the covariance
:math:`\Sigma = \sum_j \mathrm{diag}(s_j) - s_j s_j^\top` without one of them. It has no floor
where scores are separated and :math:`\Sigma` vanishes, and would then be larger than 1. In its
place

.. math:: \log P_\theta(n) \approx -\tfrac12 \log\det(I + 2\pi\alpha\Sigma),
    \qquad \alpha = m^{-1/(m - 1)},

with all classes in :math:`\Sigma`, is never above 0, treats all classes alike, tends to the local
limit where :math:`\Sigma` is large and every class alike, and to 0 where rows are certain. With
:math:`A = \pi\alpha(I + 2\pi\alpha\Sigma)^{-1}`,
:math:`V_j = \mathrm{diag}(s_j) - s_j s_j^\top`,
:math:`q_j = V_j(2 A s_j - \mathrm{diag} A)` and :math:`Q = \sum_j q_j`, its exact gradient is that
of :math:`r_j = s_j + q_j - V_j \Sigma^+ Q`: the last term is how the tilt answers, and keeps
:math:`\sum_j r_j = n`. What it is off by is measured in ``tests/solvers/test_class_counts.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift import _core
from bagshift.solvers._class_tilt import (
    covariances,
    rows_of_bags,
    solve_in_classes,
    starts_of,
    sums_of_bags,
    tilted,
)

__all__ = ["MOST_STATES", "ClassCountPosterior", "ClassCounts", "class_count_posterior"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# States of the recursion up to which a bag is exact, and numbers that it may hold (64 MB).
MOST_STATES = 4096
_MOST_NUMBERS = 8_000_000
# How far expected numbers may be from the counts, by size of the bag: the recursion is exact under
# any tilt.
_ROUGH, _SHARP = 0.05, 1e-13


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """The numbers of rows of each class in every bag.

    Parameters
    ----------
    starts : ndarray of shape (n_bags + 1,), int64
        Rows stand bag by bag: bag k has rows ``starts[k]`` to ``starts[k + 1]``, at least one.
    counts : ndarray of shape (n_bags, n_classes), int64
        They sum to the rows of the bag.

    Raises
    ------
    ValueError
        When the arrays do not fit each other.
    """

    starts: Integers
    counts: Integers

    def __post_init__(self) -> None:
        for name in ("starts", "counts"):
            given = np.asarray(getattr(self, name))
            integers = np.ascontiguousarray(given, dtype=np.int64)
            if not np.array_equal(integers, given):
                raise ValueError(f"{name} must hold whole numbers.")
            object.__setattr__(self, name, integers)
        if self.counts.ndim != 2 or self.starts.shape != (len(self.counts) + 1,):
            raise ValueError(
                "counts must have a row for each bag, and starts one entry more: their shapes are "
                f"{self.counts.shape} and {self.starts.shape}."
            )
        wrong = (self.counts < 0).any(axis=1) | (self.counts.sum(axis=1) != self.sizes)
        if self.starts[0] != 0 or (self.sizes < 1).any() or wrong.any():
            raise ValueError("counts must not be negative and sum to the rows of each bag.")

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        """Number of rows in all bags."""
        return int(self.starts[-1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @property
    def sizes(self) -> Integers:
        """Number of rows of each bag, shape (n_bags,)."""
        return np.diff(self.starts)

    @property
    def n_states(self) -> Floats:
        """States of the exact recursion, shape (n_bags,)."""
        most = self.counts.max(axis=1, initial=0)
        return np.asarray(np.prod(self.counts + 1.0, axis=1) / (most + 1.0))

    def take(self, bags: ArrayLike) -> Self:
        """Choose some of the bags, in the order given.

        Parameters
        ----------
        bags : array-like of int

        Returns
        -------
        ClassCounts
        """
        chosen = np.asarray(bags, dtype=np.int64)
        return type(self)(starts_of(self.sizes[chosen]), self.counts[chosen])

    def rows_of(self, bags: ArrayLike) -> Integers:
        """Return the numbers of the rows of some of the bags, bag by bag in the order given.

        Parameters
        ----------
        bags : array-like of int

        Returns
        -------
        ndarray of int64
        """
        return rows_of_bags(self.starts, np.asarray(bags, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class ClassCountPosterior:
    """Likelihood of the counts, and the rows given them.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n_bags,)
        log P(counts | scores) of each bag, at most 0.
    probability : ndarray of shape (n_rows, n_classes)
        P(class | counts, scores) of each row; in each bag they sum to the counts. The derivative
        of `log_likelihood` in the scores of the row is this minus their softmax. Where a bag is
        approximate an entry may be slightly outside of [0, 1].
    is_exact : ndarray of shape (n_bags,), bool
        Whether the recursion was taken.
    """

    log_likelihood: Floats
    probability: Floats
    is_exact: NDArray[np.bool_]


def class_count_posterior(
    scores: ArrayLike, counts: ClassCounts, *, most_states: int = MOST_STATES
) -> ClassCountPosterior:
    """Log-likelihood of every bag and posterior probabilities of every row.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_classes)
        Rows bag by bag.
    counts : ClassCounts
    most_states : int, default=4096
        Bags of more states than this are approximate.

    Returns
    -------
    ClassCountPosterior

    Raises
    ------
    ValueError
        When scores are not finite or do not fit the bags.

    Examples
    --------
    One of three rows is of each class; the first is most likely of class 0:

    >>> scores = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> posterior = class_count_posterior(scores, ClassCounts([0, 3], [[1, 1, 1]]))
    >>> posterior.probability.round(3)[:2]
    array([[0.576, 0.212, 0.212],
           [0.212, 0.394, 0.394]])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.shape != (counts.n_rows, counts.n_classes):
        raise ValueError(
            f"scores must have shape ({counts.n_rows}, {counts.n_classes}), one for each row and "
            f"class: their shape is {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError("scores holds values that are not finite.")
    is_exact = counts.n_states <= most_states
    is_exact &= (counts.sizes + 3) * counts.n_states <= _MOST_NUMBERS
    log_likelihood, probability = np.empty(counts.n_bags), np.empty(scores.shape)
    for bags, find in ((is_exact, _exact), (~is_exact, _approximate)):
        places = np.flatnonzero(bags)
        if len(places):
            rows = counts.rows_of(places)
            log_likelihood[places], probability[rows] = find(scores[rows], counts.take(places))
    return ClassCountPosterior(log_likelihood, probability, is_exact)


def _exact(scores: Floats, counts: ClassCounts) -> tuple[Floats, Floats]:
    tilt = tilted(scores, counts.starts, counts.counts, tol=_ROUGH)
    log_probability, posterior = _core.class_count_posterior(
        chances=np.ascontiguousarray(tilt.chances), starts=counts.starts, counts=counts.counts
    )
    return tilt.log_factor + log_probability, posterior.reshape(scores.shape)


def _approximate(scores: Floats, counts: ClassCounts) -> tuple[Floats, Floats]:
    tilt = tilted(scores, counts.starts, counts.counts, tol=_SHARP)
    s, sizes, present = tilt.chances, counts.sizes, counts.counts > 0
    covariance = covariances(s, counts.starts)
    n_present = present.sum(axis=1)
    alpha = n_present ** (-1.0 / np.maximum(n_present - 1, 1))
    widened = np.eye(counts.n_classes) + 2 * np.pi * alpha[:, None, None] * covariance
    log_determinant = np.linalg.slogdet(widened).logabsdet
    A = np.pi * alpha[:, None, None] * np.linalg.inv(widened)
    of_rows = np.repeat(np.arange(counts.n_bags), sizes)
    pull = 2 * np.einsum("jcd,jd->jc", A[of_rows], s) - np.einsum("kcc->kc", A)[of_rows]
    q = _times_covariance(s, pull)
    answer = solve_in_classes(covariance, present, sums_of_bags(q, counts.starts) * present)
    posterior = s + q - _times_covariance(s, answer[of_rows])
    return tilt.log_factor - 0.5 * log_determinant, posterior


def _times_covariance(s: Floats, values: Floats) -> Floats:
    """Return (diag(s) - s s') v of every row."""
    return np.asarray(s * (values - (s * values).sum(axis=1)[:, None]))
