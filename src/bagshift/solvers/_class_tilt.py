# SPDX-License-Identifier: BSD-3-Clause
r"""The tilt that makes the expected numbers of classes in a bag those that are known.

With :math:`s_{jc} \propto e^{f_{jc} + \theta_c}` the expected numbers are
:math:`\sum_j s_{jc}`. They equal the counts :math:`n_c` where the convex function
:math:`\sum_j \log\sum_c e^{f_{jc} + \theta_c} - \sum_c n_c \theta_c` is smallest. Newton's step is
taken where it lowers this function enough, else a step of iterative scaling,
:math:`\theta_c \mathrel{+}= \log(n_c / \sum_j s_{jc})`, which always does. Classes of which a bag
has none have :math:`\theta_c = -\infty`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_STEPS = 60
# What a search may miss, by size of the bag, before it begins anew from scores this near together.
_ENOUGH, _NEAR = 1e-10, 16.0
# Part of the promised decrease that a step of Newton's must keep.
_TAKEN = 1e-4
# Bags whose labels are more certain than this are as good as labelled.
_LEAST_VARIANCE = 1e-10
# Numbers of the second moments of rows that are held at a time.
_MOST_NUMBERS = 4_000_000


@dataclass(frozen=True)
class Tilt:
    """Chances of rows under the tilt of their bag.

    Attributes
    ----------
    chances : ndarray of shape (n_rows, n_classes)
        Rows sum to 1, and bags to their counts.
    log_factor : ndarray of shape (n_bags,)
        log of P(counts) / P(counts under the tilt).
    """

    chances: Floats
    log_factor: Floats


def tilted(scores: Floats, starts: Integers, counts: Integers, *, tol: float) -> Tilt:
    """Tilt the scores of every bag.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite.
    starts : ndarray of shape (n_bags + 1,)
    counts : ndarray of shape (n_bags, n_classes)
    tol : float
        Largest distance of an expected number from its count, relative to the size of the bag.

    Returns
    -------
    Tilt
    """
    sizes = np.diff(starts)
    if not len(counts):
        return Tilt(np.empty_like(scores), np.empty(0))
    plain = np.add.reduceat(logsumexp(scores, axis=1), starts[:-1])
    scores = np.where(np.repeat(counts > 0, sizes, axis=0), scores, -np.inf)
    found = _search(scores, starts, counts, np.zeros(counts.shape), tol)
    hard = np.flatnonzero(~found.is_found)
    if len(hard):
        rows, own = rows_of_bags(starts, hard), starts_of(sizes[hard])
        part = _search_from_afar(scores[rows], own, counts[hard], tol)
        found.chances[rows], found.value[hard] = part.chances, part.value
    return Tilt(found.chances, found.value - plain)


@dataclass(frozen=True)
class _Found:
    """Where a search for the tilt has come to."""

    theta: Floats
    chances: Floats
    value: Floats
    is_found: NDArray[np.bool_]


def _search(
    scores: Floats, starts: Integers, counts: Integers, theta: Floats, tol: float
) -> _Found:
    sizes = np.diff(starts)
    chances, value = _at(scores, starts, counts, theta)
    for _ in range(_MOST_STEPS):
        short = counts - sums_of_bags(chances, starts)
        open_ = np.flatnonzero(np.abs(short).max(axis=1) > tol * sizes)
        if not len(open_):
            break
        rows, own = rows_of_bags(starts, open_), starts_of(sizes[open_])
        part = scores[rows], own, counts[open_]
        moved = _step(part, theta[open_], chances[rows], value[open_], short[open_])
        theta[open_], chances[rows], value[open_] = moved
    short = np.abs(counts - sums_of_bags(chances, starts)).max(axis=1)
    return _Found(theta, chances, value, short <= max(tol, _ENOUGH) * sizes)


def _search_from_afar(scores: Floats, starts: Integers, counts: Integers, tol: float) -> _Found:
    """Search on scores that are less apart first, and follow the tilt as they go apart."""
    spread = float(np.ptp(scores[np.isfinite(scores)]))
    theta = np.zeros(counts.shape)
    for power in range(max(0, math.ceil(math.log2(max(spread, 1.0) / _NEAR))), -1, -1):
        factor = 2.0**power
        found = _search(scores / factor, starts, counts, theta / factor, tol)
        theta = factor * found.theta
    return found


def covariances(chances: Floats, starts: Integers) -> Floats:
    """Return the covariance of the numbers of classes of every bag.

    Parameters
    ----------
    chances : ndarray of shape (n_rows, n_classes)
    starts : ndarray of shape (n_bags + 1,)

    Returns
    -------
    ndarray of shape (n_bags, n_classes, n_classes)
        Sum over rows of diag(s) - s s'.
    """
    n_classes = chances.shape[1]
    n_bags = len(starts) - 1
    found = np.empty((n_bags, n_classes, n_classes))
    step = max(1, _MOST_NUMBERS // n_classes**2)
    first = 0
    while first < n_bags:
        end = int(np.searchsorted(starts, starts[first] + step, side="right")) - 1
        end = max(end, first + 1)
        part = chances[starts[first] : starts[end]]
        products = part[:, :, None] * part[:, None, :]
        found[first:end] = -np.add.reduceat(products, starts[first:end] - starts[first])
        first = end
    diagonal = np.arange(n_classes)
    found[:, diagonal, diagonal] += sums_of_bags(chances, starts)
    return found


def solve_in_classes(matrices: Floats, present: NDArray[np.bool_], values: Floats) -> Floats:
    """Solve with covariances, which know nothing of a common shift and of absent classes.

    Parameters
    ----------
    matrices : ndarray of shape (n_bags, n_classes, n_classes)
    present : ndarray of shape (n_bags, n_classes)
        Classes that the bag has.
    values : ndarray of shape (n_bags, n_classes)
        Of sum zero, and zero where the class is absent.

    Returns
    -------
    ndarray of shape (n_bags, n_classes)
        Zero where the class is absent.
    """
    filled = _filled(matrices, present)
    return np.asarray(np.linalg.solve(filled, values[:, :, None])[:, :, 0] * present)


def inverse_in_classes(matrices: Floats, present: NDArray[np.bool_]) -> Floats:
    """Return what `solve_in_classes` multiplies by.

    Parameters
    ----------
    matrices : ndarray of shape (n_bags, n_classes, n_classes)
    present : ndarray of shape (n_bags, n_classes)

    Returns
    -------
    ndarray of shape (n_bags, n_classes, n_classes)
    """
    both = present[:, :, None] & present[:, None, :]
    return np.asarray(np.linalg.inv(_filled(matrices, present)) * both)


def _filled(matrices: Floats, present: NDArray[np.bool_]) -> Floats:
    """Return covariances that are no longer singular."""
    scale = np.maximum(np.einsum("kcc->k", matrices), _LEAST_VARIANCE)
    both = present[:, :, None] & present[:, None, :]
    filled = matrices + both * (scale / present.sum(axis=1) ** 2)[:, None, None]
    diagonal = np.arange(matrices.shape[1])
    # A part in 1e12, so that classes that are as good as certain do not make it singular.
    filled[:, diagonal, diagonal] += np.where(present, 1e-12, 1.0) * scale[:, None]
    return np.asarray(filled)


def sums_of_bags(values: Floats, starts: Integers) -> Floats:
    """Return the sums over the rows of every bag."""
    if len(starts) == 1:
        return np.empty((0, *values.shape[1:]))
    return np.asarray(np.add.reduceat(values, starts[:-1]))


def starts_of(sizes: Integers) -> Integers:
    """Return where bags of such sizes begin, and the number of rows."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def rows_of_bags(starts: Integers, bags: Integers) -> Integers:
    """Return the numbers of the rows of some bags, bag by bag."""
    sizes = np.diff(starts)[bags]
    own = starts_of(sizes)
    return np.arange(own[-1]) + np.repeat(starts[bags] - own[:-1], sizes)


def _at(
    scores: Floats, starts: Integers, counts: Integers, theta: Floats
) -> tuple[Floats, Floats]:
    """Return the chances and the value of the function at a tilt."""
    moved = scores + np.repeat(theta, np.diff(starts), axis=0)
    total = logsumexp(moved, axis=1)
    chances = np.exp(moved - total[:, None])
    return chances, sums_of_bags(total, starts) - (counts * theta).sum(axis=1)


def _log_expected(
    scores: Floats, starts: Integers, theta: Floats, present: NDArray[np.bool_]
) -> Floats:
    """Return the logarithms of the expected numbers, which may be too small for numbers."""
    moved = scores + np.repeat(theta, np.diff(starts), axis=0)
    log_chances = moved - logsumexp(moved, axis=1)[:, None]
    largest = np.where(present, np.maximum.reduceat(log_chances, starts[:-1]), 0.0)
    relative = np.exp(log_chances - np.repeat(largest, np.diff(starts), axis=0))
    return largest + np.log(np.where(present, sums_of_bags(relative, starts), 1.0))


def _step(
    part: tuple[Floats, Integers, Integers],
    theta: Floats,
    chances: Floats,
    value: Floats,
    short: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return tilt, chances and value after Newton's step or, where it fails, one of scaling."""
    scores, starts, counts = part
    present = counts > 0
    move = solve_in_classes(covariances(chances, starts), present, short * present)
    promise = (move * short).sum(axis=1)
    new_chances, new_value = _at(scores, starts, counts, theta + move)
    bad = ~(new_value <= value - _TAKEN * promise + 1e-12 * np.abs(value))
    if bad.any():
        scaling = np.log(np.maximum(counts, 1)) - _log_expected(scores, starts, theta, present)
        move[bad] = np.where(present, scaling, 0.0)[bad]
        new_chances, new_value = _at(scores, starts, counts, theta + move)
    return theta + move, new_chances, new_value
