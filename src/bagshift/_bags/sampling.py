# SPDX-License-Identifier: BSD-3-Clause
r"""Counts in a sample of a bag's individuals.

A bag of :math:`M` individuals, :math:`P` of them positive, shows :math:`n < M` of them as rows.
The count :math:`c` among the rows is hypergeometric. Read backwards, with every population count
from 0 to :math:`M` equally likely beforehand, the count among the rows is uniform too, and

.. math:: P(P \mid c) = \frac{n+1}{M+1} \, \mathrm{Hyp}(c \mid M, P, n),

so that a published number with :math:`P(\text{published} \mid P)` has

.. math:: P(\text{published} \mid c)
          = \frac{n+1}{M+1} \sum_P P(\text{published} \mid P) \, \mathrm{Hyp}(c \mid M, P, n).

The sum runs over every population count where there are few. Where there are many it runs over
cells of neighbouring counts, each represented by two nodes. Cells are short against the standard
deviation of :math:`P` given :math:`c`, which makes them equally wide in
:math:`\arcsin\sqrt{P/M}`; short against the scale of the noise; and they shrink towards the ends
of the range and towards a corner of the noise law, where neighbouring terms differ most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, kl_div, logsumexp, xlogy

if TYPE_CHECKING:
    from bagshift._bags.count_weights import CountLaw

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_MOST_TERMS = 1024
_CELLS_PER_DEVIATION = 2
_CELLS_OF_LAW = 160  # a law's range is 160 scales of Laplace noise, 25 of Gaussian
_GRADING = 1.5
_CHUNKS = (32, 512)
_REACH = 50.0
"""By Hoeffding, counts further than sqrt(50 n) from their mean have log P < -100."""


def hypergeometric_log_pmf(
    counts: ArrayLike, size: ArrayLike, positives: ArrayLike, n_rows: ArrayLike
) -> FloatArray:
    r"""Log probability of so many positives among rows drawn without replacement.

    Parameters
    ----------
    counts : array-like
        Positives among the rows.
    size, positives : array-like
        Individuals, and positives among them; `positives` need not be whole.
    n_rows : array-like
        Individuals drawn.

    Returns
    -------
    ndarray
        Of the shape that the arguments broadcast to; minus infinity for what cannot be.

    Notes
    -----
    With the four cells :math:`x_i` of the table of drawn or not against positive or not, and
    :math:`e_i` their expectations, the logarithm is :math:`-\sum_i (x_i\log(x_i/e_i)-x_i+e_i)`
    and small terms. Differences of large log factorials would lose digits.

    Examples
    --------
    >>> float(np.exp(hypergeometric_log_pmf(1, 4, 2, 2)).round(12))
    0.666666666667
    """
    count, everyone, with_label, drawn = (
        np.asarray(numbers, dtype=np.float64) for numbers in (counts, size, positives, n_rows)
    )
    left, without = everyone - drawn, everyone - with_label
    cells = (
        (count, drawn, with_label),
        (drawn - count, drawn, without),
        (with_label - count, left, with_label),
        (left - with_label + count, left, without),
    )
    total = sum(map(_log_factorial_rest, (drawn, left, with_label, without)))
    total = total - _log_factorial_rest(everyone)
    is_possible = np.asarray(True)
    for cell, row, column in cells:
        is_possible = is_possible & (cell >= 0)
        inside = np.maximum(cell, 0.0)
        total = total - kl_div(inside, row * column / everyone) - _log_factorial_rest(inside)
    return np.where(is_possible, total, -np.inf)


def _log_factorial_rest(numbers: FloatArray) -> FloatArray:
    """Return log x! - x log x + x, without cancellation for large x (Stirling's series)."""
    large = np.maximum(numbers, 16.0)
    inverse = 1.0 / large
    series = inverse * (1 / 12 - inverse**2 * (1 / 360 - inverse**2 * (1 / 1260)))
    series += 0.5 * np.log(2 * np.pi * large)
    if numbers.size and numbers.min() >= 16.0:
        return series
    small = np.minimum(numbers, 16.0)
    exact = gammaln(small + 1) - xlogy(small, small) + small
    return np.where(numbers < 16.0, exact, series)


def sampled_known_count(
    sizes: FloatArray, positives: FloatArray, n_rows: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Weigh the counts of samples of bags whose population count is known.

    Parameters
    ----------
    sizes, positives : ndarray of shape (n_bags,)
    n_rows : ndarray of shape (n_bags,)

    Returns
    -------
    first : ndarray of shape (n_bags,)
        Lowest count with a weight.
    lengths : ndarray of shape (n_bags,)
        How many counts have a weight.
    log_weights : ndarray of shape (n_weights,)
    """
    first, last = _window(sizes, positives, n_rows)
    lengths = last - first + 1
    bag = np.repeat(np.arange(len(sizes)), lengths)
    counts = np.arange(len(bag)) - np.repeat(np.cumsum(lengths) - lengths - first, lengths)
    log_weights = hypergeometric_log_pmf(counts, sizes[bag], positives[bag], n_rows[bag])
    return first, lengths, log_weights + _flat_prior(sizes, n_rows)[bag]


def sampled_range(
    law: CountLaw, share: float, size: int, n_rows: int, first: int, last: int
) -> tuple[int, FloatArray]:
    """Weigh the counts of a sample where a range of population counts is possible.

    Parameters
    ----------
    law : CountLaw
    share : float
        Published share.
    size, n_rows : int
        Individuals, and how many of them are rows.
    first, last : int
        Lowest and highest population count that can matter.

    Returns
    -------
    tuple of int and ndarray
        The lowest count with a weight, and the log weights.
    """
    positives, log_terms = _nodes(law, share, size, n_rows, first, last)
    ones = np.ones(len(positives))
    log_terms += law._log_probability(share * ones, size * ones, positives)
    low, high = _window(size * ones, positives, np.full(len(ones), n_rows))
    start, stop = int(low.min()), int(high.max()) + 1
    log_weights = np.full(stop - start, -np.inf)
    chunk = int(np.clip((high - low).max(), *_CHUNKS))
    for begin in range(start, stop, chunk):
        counts = np.arange(begin, min(begin + chunk, stop))
        near = np.flatnonzero((low <= counts[-1]) & (high >= begin))
        if not len(near):
            continue
        table = hypergeometric_log_pmf(counts, size, positives[near, None], n_rows)
        log_weights[counts - start] = logsumexp(table + log_terms[near, None], axis=0)
    return start, log_weights + _flat_prior(size, n_rows)


def _flat_prior(sizes: ArrayLike, n_rows: ArrayLike) -> FloatArray:
    return np.asarray(np.log1p(n_rows) - np.log1p(sizes))


def _window(
    sizes: FloatArray, positives: FloatArray, n_rows: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the lowest and highest count among the rows that can matter."""
    mean = n_rows * (positives / sizes)
    reach = np.sqrt(_REACH * np.minimum(n_rows, sizes - n_rows))
    low = np.maximum(positives + n_rows - sizes, np.maximum(mean - reach, 0.0))
    high = np.minimum(np.minimum(positives, n_rows), mean + reach)
    return np.ceil(low).astype(np.int64), np.floor(high).astype(np.int64)


def _nodes(
    law: CountLaw, share: float, size: int, n_rows: int, first: int, last: int
) -> tuple[FloatArray, FloatArray]:
    """Return population counts, not all of them whole, that stand for a range, and log weights."""
    if last - first < _MOST_TERMS:
        return np.arange(float(first), last + 1.0), np.zeros(last - first + 1)
    edges = _cell_edges(law._corner(share, size), size, n_rows, first, last)
    lengths = np.diff(edges)
    middles, is_long = (edges[:-1] + edges[1:] - 1) / 2, lengths > 1
    # Two nodes have the moments of the whole numbers of a cell, up to the third.
    offsets = np.sqrt((lengths[is_long] ** 2 - 1) / 12)
    halves = np.log(lengths[is_long] / 2)
    nodes = (middles[is_long] - offsets, middles[is_long] + offsets, middles[~is_long])
    return np.concatenate(nodes), np.concatenate([halves, halves, np.zeros(sum(~is_long))])


def _cell_edges(corner: float, size: int, n_rows: int, first: int, last: int) -> FloatArray:
    """Cut a range of population counts into cells, by the three scales of what is summed."""
    low, high = np.arcsin(np.sqrt(np.array([first, last + 1]) / (size + 1)))
    deviation = 0.5 * np.sqrt((1 - n_rows / size) / n_rows)
    n_cells = min(int(_CELLS_PER_DEVIATION * (high - low) / deviation) + 1, last - first + 1)
    distances = _GRADING ** np.arange(np.log(last - first + 1) / np.log(_GRADING))
    edges = [
        (size + 1) * np.sin(np.linspace(low, high, n_cells + 1)) ** 2,
        np.linspace(first, last + 1, _CELLS_OF_LAW + 1),
        *(place + sign * distances for place in (first, corner, last + 1) for sign in (-1, 0, 1)),
    ]
    return np.unique(np.clip(np.rint(np.concatenate(edges)), first, last + 1))
