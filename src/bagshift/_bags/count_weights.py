# SPDX-License-Identifier: BSD-3-Clause
"""What published numbers say about the true counts: a short vector of weights for each bag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.sampling import sampled_known_count, sampled_range

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LONGEST_DROP = 80.0
"""Weights that are smaller than the largest by more than this in the logarithm are left out."""

_WHOLE = 1e-6
# More decimals cannot be told from the errors of single precision.
_MOST_DECIMALS = 6
_SINGLE_PRECISION = 1e-7


@dataclass(frozen=True)
class PublishedCounts:
    """Log weights of the true counts of positives among the rows of each bag.

    Attributes
    ----------
    first_counts : ndarray of shape (n_bags,)
        Lowest count that has a weight.
    weight_starts : ndarray of shape (n_bags + 1,)
        Where the weights of each bag begin in `log_weights`.
    log_weights : ndarray of shape (n_weights,)
        log P(published number | true count) of the counts ``first_counts[k]``, one more, ...
    """

    first_counts: IntArray
    weight_starts: IntArray
    log_weights: FloatArray

    @property
    def lengths(self) -> IntArray:
        """How many counts of each bag have a weight, of shape (n_bags,)."""
        return np.diff(self.weight_starts)


class CountLaw(Protocol):
    """What is asked of a law that ties a published number to the true count behind it."""

    def _band(self, shares: FloatArray, sizes: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the first and last count that can matter; an empty range if none fits."""

    def _log_probability(
        self, shares: FloatArray, sizes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        """Return log P(published share | true count), element by element."""

    def _corner(self, share: float, size: float) -> float:
        """Return the count at which the probability is not smooth, or any outside the band."""


def weigh_counts(
    law: CountLaw, shares: FloatArray, sizes: FloatArray, n_rows: IntArray
) -> PublishedCounts:
    """Weigh the true counts of bags that have one law.

    Parameters
    ----------
    law : CountLaw
    shares, sizes : ndarray of shape (n_bags,)
        Published shares, and how many individuals they speak about.
    n_rows : ndarray of shape (n_bags,)
        Rows here. Where there are fewer than individuals they are a sample of them.

    Returns
    -------
    PublishedCounts
        Without a weight for bags that no count fits.
    """
    first, last = law._band(shares, sizes)
    is_sample = sizes > n_rows
    is_known = is_sample & (first == last)
    pieces = [_of_all_rows(law, shares, sizes, first, last, np.flatnonzero(~is_sample))]
    if is_known.any():
        pieces.append(_of_samples(law, shares, sizes, first, n_rows, np.flatnonzero(is_known)))
    for bag in np.flatnonzero(is_sample & (first < last)):
        start, weights = sampled_range(
            law, shares[bag], int(sizes[bag]), int(n_rows[bag]), int(first[bag]), int(last[bag])
        )
        weights, starts, cut = _trim(weights, np.array([0, len(weights)]))
        pieces.append((np.array([bag]), PublishedCounts(cut + start, starts, weights)))
    return assemble(pieces, len(shares))


def assemble(pieces: Iterable[tuple[IntArray, PublishedCounts]], n_bags: int) -> PublishedCounts:
    """Put weights of groups of bags into the order of the bags.

    Parameters
    ----------
    pieces : iterable of (ndarray, PublishedCounts)
        Places of bags, each at most once in all, and their weights.
    n_bags : int

    Returns
    -------
    PublishedCounts
    """
    pieces = list(pieces)
    first_counts, lengths = np.zeros((2, n_bags), dtype=np.int64)
    for places, found in pieces:
        first_counts[places] = found.first_counts
        lengths[places] = found.lengths
    starts = _starts(lengths)
    log_weights = np.empty(starts[-1])
    for places, found in pieces:
        target = spread(starts[places], found.lengths)
        log_weights[target] = found.log_weights
    return PublishedCounts(first_counts, starts, log_weights)


def spread(first: IntArray, lengths: IntArray) -> IntArray:
    """List the numbers of each range, range after range.

    Examples
    --------
    >>> spread(np.array([5, 0]), np.array([3, 2]))
    array([5, 6, 7, 0, 1])
    """
    starts = _starts(lengths)
    return np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)


def is_whole(counts: FloatArray) -> NDArray[np.bool_]:
    """Whether numbers are whole but for rounding, also that of a share in single precision."""
    tolerance = _WHOLE * np.maximum(1.0, 0.1 * np.abs(counts))
    return np.asarray(np.abs(counts - np.rint(counts)) <= tolerance)


def fits_one_count(shares: FloatArray, sizes: FloatArray) -> NDArray[np.bool_]:
    """Tell shares that can only be those of one whole count, exact or rounded.

    A column of shares has the decimals of its longest entry, since zeros at the end are not seen.
    """
    half = 0.5 * _last_decimal(shares) * sizes
    counts = shares * sizes
    slack = 1e-9 + 1e-15 * np.abs(sizes)
    lowest, highest = np.ceil(counts - half - slack), np.floor(counts + half + slack)
    return np.asarray(is_whole(counts) | (lowest == highest))


def _last_decimal(shares: FloatArray) -> float:
    """Return the unit of the last decimal that shares are rounded to; 0 if they have too many."""
    for digits in range(1, _MOST_DECIMALS + 1):
        if np.all(np.abs(shares - np.round(shares, digits)) <= _SINGLE_PRECISION):
            return 10.0**-digits
    return 0.0


def _starts(lengths: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _of_all_rows(
    law: CountLaw,
    shares: FloatArray,
    sizes: FloatArray,
    first: IntArray,
    last: IntArray,
    places: IntArray,
) -> tuple[IntArray, PublishedCounts]:
    """Weigh the counts of bags all of whose individuals are here."""
    lengths = np.maximum(last - first + 1, 0)[places]
    counts = spread(first[places], lengths).astype(np.float64)
    log_weights = law._log_probability(
        np.repeat(shares[places], lengths), np.repeat(sizes[places], lengths), counts
    )
    return places, PublishedCounts(first[places], _starts(lengths), log_weights)


def _of_samples(
    law: CountLaw,
    shares: FloatArray,
    sizes: FloatArray,
    counts: IntArray,
    n_rows: IntArray,
    places: IntArray,
) -> tuple[IntArray, PublishedCounts]:
    """Weigh the counts of samples of bags where one population count alone is possible."""
    shares, sizes, known = shares[places], sizes[places], counts[places].astype(np.float64)
    first, lengths, log_weights = sampled_known_count(sizes, known, n_rows[places])
    log_weights += np.repeat(law._log_probability(shares, sizes, known), lengths)
    log_weights, starts, cut = _trim(log_weights, _starts(lengths))
    return places, PublishedCounts(first + cut, starts, log_weights)


def _trim(log_weights: FloatArray, starts: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Cut off what is too small at both ends; return also how many are gone at the front."""
    lengths = np.diff(starts)
    floor = np.maximum.reduceat(log_weights, starts[:-1]) - LONGEST_DROP
    kept = np.flatnonzero(log_weights >= np.repeat(floor, lengths))
    bag = np.searchsorted(starts, kept, side="right") - 1
    is_first = np.append(True, bag[1:] != bag[:-1])
    front, back = kept[is_first], kept[np.append(is_first[1:], True)]
    new_lengths = back - front + 1
    return log_weights[spread(front, new_lengths)], _starts(new_lengths), front - starts[:-1]
