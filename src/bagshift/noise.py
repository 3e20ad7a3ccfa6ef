# SPDX-License-Identifier: BSD-3-Clause
r"""Laws that tie the published share of a bag to the true count behind it.

A published number need not be the share of the rows: it may have been noised for privacy,
estimated by a survey, or rounded. A law says how, as the probability of the published number
given each true count :math:`c` of positives among the bag's individuals,

.. math:: w(c) = P(\text{published} \mid c).

Additive laws have shares outside [0, 1] as a matter of course, and these must be kept: clipping
them would shift every estimate. Their `scale` is in units of counts or of shares, and which of
the two has to be said. The density of a continuous law is one per count, so that a scale in
shares means the same as that scale times the size in counts.

Where a bag's declared size exceeds its rows, the law speaks about the count of all individuals,
and the rows are a sample of them; see `NoiseLaw.log_weights`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.count_weights import LONGEST_DROP, fits_one_count, is_whole, weigh_counts
from bagshift.exceptions import BagError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Unit = Literal["counts", "shares"]

_SMALLEST_SCALE = 1e-9
_MOST_DIGITS = 15


class NoiseLaw(ABC):
    """What every law offers. Laws are values: they never change, compare equal and hash.

    Attributes
    ----------
    is_additive : bool
        Whether something was added to the true number, so that it may leave its range.
    """

    is_additive: ClassVar[bool] = False

    def log_weights(self, share: float, size: int, n_rows: int) -> tuple[int, FloatArray]:
        r"""Weigh the true counts of positives among the rows of one bag.

        Parameters
        ----------
        share : float
            The published share.
        size : int
            How many individuals the share speaks about.
        n_rows : int
            How many of them are rows here. If fewer, the rows are taken as a sample drawn
            without replacement, and the weights are those of the hypergeometric distribution
            under equally likely counts among all individuals.

        Returns
        -------
        first_count : int
            Lowest count that has a weight.
        log_weights : ndarray
            log P(published | count) for the counts from `first_count` on. Counts at the ends
            whose weight is below :math:`e^{-80}` of the largest are left out.

        Raises
        ------
        BagError
            If no count fits the share.

        Examples
        --------
        >>> first_count, log_weights = Rounding(2).log_weights(0.33, size=9, n_rows=9)
        >>> first_count, log_weights
        (3, array([0.]))
        """
        found = weigh_counts(
            self,
            np.array([share], dtype=np.float64),
            np.array([size], dtype=np.float64),
            np.array([n_rows], dtype=np.int64),
        )
        if not found.lengths[0]:
            raise BagError(
                f"no whole count of {size:,} has the share {share:.6g} under {self!r}: correct "
                "the law, the share or the size."
            )
        return int(found.first_counts[0]), found.log_weights

    @abstractmethod
    def _band(self, shares: FloatArray, sizes: FloatArray) -> tuple[IntArray, IntArray]:
        """First and last count of all individuals that matters; an empty range if none fits."""

    @abstractmethod
    def _log_probability(
        self, shares: FloatArray, sizes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        """Log probability of shares given counts, whole or not, that lie in the band."""

    def _corner(self, share: float, size: float) -> float:
        """Where the probability is not smooth in the count; below 0 for nowhere."""
        return -1.0

    def _scale_in_shares(self, sizes: FloatArray) -> FloatArray:
        """How far shares are moved, roughly; 0 if nothing was added."""
        return np.zeros(np.shape(sizes))

    def _is_off(self, shares: FloatArray, sizes: FloatArray) -> BoolArray:
        """Tell shares that are not whole counts and do not say which count was rounded."""
        return np.zeros(np.shape(shares), dtype=bool)


class _AdditiveLaw(NoiseLaw):
    """A law of the published count minus the true one."""

    is_additive: ClassVar[bool] = True

    @abstractmethod
    def _scale_in_counts(self, sizes: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _radius(self, distance: FloatArray, sizes: FloatArray) -> FloatArray:
        """How far counts may be from the published one when the nearest is at `distance`."""

    def _published_counts(self, shares: FloatArray, sizes: FloatArray) -> FloatArray:
        return shares * sizes

    def _scale_in_shares(self, sizes: FloatArray) -> FloatArray:
        return self._scale_in_counts(sizes) / sizes

    def _band(self, shares: FloatArray, sizes: FloatArray) -> tuple[IntArray, IntArray]:
        published = self._published_counts(shares, sizes)
        nearest = np.clip(np.rint(published), 0.0, sizes)
        radius = self._radius(np.abs(published - nearest), sizes)
        first = np.ceil(np.clip(published - radius, 0.0, nearest))
        last = np.floor(np.clip(published + radius, nearest, sizes))
        return first.astype(np.int64), last.astype(np.int64)


class _ExponentialLaw(_AdditiveLaw):
    """An additive law that falls by one in the logarithm with every `scale` counts."""

    def _radius(self, distance: FloatArray, sizes: FloatArray) -> FloatArray:
        return distance + LONGEST_DROP * self._scale_in_counts(sizes)

    def _corner(self, share: float, size: float) -> float:
        return share * size


@dataclass(frozen=True)
class LaplaceNoise(_ExponentialLaw):
    r"""Laplace noise, with density :math:`e^{-|x|/b} / (2b)`.

    Parameters
    ----------
    scale : float
        The scale :math:`b`, which is the mean distance; the standard deviation is
        :math:`\sqrt 2 b`. Differential privacy of one label asks for :math:`1/\varepsilon` in
        counts.
    unit : {"counts", "shares"}
        What `scale` is measured in; always to be given.

    Examples
    --------
    >>> LaplaceNoise(0.05, unit="shares")
    LaplaceNoise(scale=0.05, unit='shares')
    """

    scale: float
    unit: Unit = field(kw_only=True)

    def __post_init__(self) -> None:
        _check_scale(self, self.scale, self.unit)

    def _scale_in_counts(self, sizes: FloatArray) -> FloatArray:
        return _in_counts(self.scale, self.unit, sizes)

    def _log_probability(
        self, shares: FloatArray, sizes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        scale = self._scale_in_counts(sizes)
        return np.asarray(-np.abs(shares * sizes - counts) / scale - np.log(2 * scale))


@dataclass(frozen=True)
class GeometricNoise(_ExponentialLaw):
    r"""Two-sided geometric noise of counts, the discrete form of Laplace noise.

    With :math:`q = e^{-\varepsilon}` the noise is :math:`k` with probability
    :math:`\frac{1-q}{1+q} q^{|k|}`. Added to the count of a bag it protects the label of each
    individual with differential privacy of :math:`\varepsilon` [1]_; `bagshift.noise_counts`
    draws it.

    Parameters
    ----------
    epsilon : float
        The privacy parameter: the smaller, the more noise.

    References
    ----------
    .. [1] A. Ghosh, T. Roughgarden, M. Sundararajan (2012). Universally utility-maximizing
       privacy mechanisms. SIAM Journal on Computing 41(6).

    Examples
    --------
    >>> first_count, log_weights = GeometricNoise(1.0).log_weights(1.25, size=4, n_rows=4)
    >>> first_count, (log_weights - log_weights[-1]).round(9)
    (0, array([-4., -3., -2., -1.,  0.]))
    """

    epsilon: float

    def __post_init__(self) -> None:
        value = _check_positive(self.epsilon, "epsilon", type(self).__name__)
        object.__setattr__(self, "epsilon", value)

    def _scale_in_counts(self, sizes: FloatArray) -> FloatArray:
        return np.full(np.shape(sizes), 1.0 / self.epsilon)

    def _published_counts(self, shares: FloatArray, sizes: FloatArray) -> FloatArray:
        return np.rint(shares * sizes)

    def _log_probability(
        self, shares: FloatArray, sizes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        distance = np.abs(self._published_counts(shares, sizes) - counts)
        return np.asarray(np.log(np.tanh(self.epsilon / 2)) - self.epsilon * distance)

    def _is_off(self, shares: FloatArray, sizes: FloatArray) -> BoolArray:
        return ~fits_one_count(shares, sizes)


@dataclass(frozen=True)
class GaussianNoise(_AdditiveLaw):
    r"""Gaussian noise, such as the error of a survey.

    Parameters
    ----------
    scale : float
        The standard deviation :math:`\sigma`.
    unit : {"counts", "shares"}
        What `scale` is measured in; always to be given.

    Examples
    --------
    >>> GaussianNoise(2, unit="counts")
    GaussianNoise(scale=2.0, unit='counts')
    """

    scale: float
    unit: Unit = field(kw_only=True)

    def __post_init__(self) -> None:
        _check_scale(self, self.scale, self.unit)

    def _scale_in_counts(self, sizes: FloatArray) -> FloatArray:
        return _in_counts(self.scale, self.unit, sizes)

    def _radius(self, distance: FloatArray, sizes: FloatArray) -> FloatArray:
        reach = np.sqrt(2 * LONGEST_DROP) * self._scale_in_counts(sizes)
        return np.asarray(np.hypot(distance, reach))

    def _log_probability(
        self, shares: FloatArray, sizes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        scale = self._scale_in_counts(sizes)
        distance = (shares * sizes - counts) / scale
        return np.asarray(-0.5 * distance**2 - np.log(np.sqrt(2 * np.pi) * scale))


@dataclass(frozen=True)
class Rounding(NoiseLaw):
    """A share that was rounded to so many decimals.

    Every true count whose share rounds to the published one has the weight 1, the others none.
    At a tie both neighbours count, so that rounding half up and half to even are both allowed.

    Parameters
    ----------
    digits : int
        Decimals of the share, not of a percentage: 33.3 % is the share 0.333, of 3 digits.

    Examples
    --------
    >>> first_count, log_weights = Rounding(1).log_weights(0.3, size=20, n_rows=20)
    >>> first_count, len(log_weights)
    (5, 3)
    """

    digits: int

    def __post_init__(self) -> None:
        digits = self.digits
        if not isinstance(digits, Integral) or isinstance(digits, bool):
            raise TypeError(f"digits of Rounding must be a whole number, not {digits!r}.")
        if not 0 <= digits <= _MOST_DIGITS:
            raise ValueError(f"digits of Rounding must be from 0 to {_MOST_DIGITS}, not {digits}.")
        object.__setattr__(self, "digits", int(digits))

    def _band(self, shares: FloatArray, sizes: FloatArray) -> tuple[IntArray, IntArray]:
        unit = 10.0**-self.digits
        rounded = np.round(shares, self.digits)
        half = np.full(np.shape(shares), 0.5 * unit)
        # More decimals than declared, which single precision alone does not explain.
        half[np.abs(shares - rounded) > max(0.01 * unit, 1e-7)] = -np.inf
        slack = 1e-9 + 1e-15 * sizes
        first = np.maximum(np.ceil((rounded - half) * sizes - slack), 0.0)
        last = np.minimum(np.floor((rounded + half) * sizes + slack), sizes)
        fits = first <= last
        return np.where(fits, first, 1).astype(np.int64), np.where(fits, last, 0).astype(np.int64)

    def _log_probability(
        self, shares: FloatArray, sizes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        return np.zeros(np.shape(counts))


class _NearestCount(NoiseLaw):
    """No law: the share is that of the nearest whole count, or of both at a tie."""

    def _band(self, shares: FloatArray, sizes: FloatArray) -> tuple[IntArray, IntArray]:
        counts = shares * sizes
        tie = np.where(is_whole(2 * counts), 1e-6, 0.0) * np.maximum(1.0, 0.1 * counts)
        exact = is_whole(counts)
        first = np.where(exact, np.rint(counts), np.ceil(counts - 0.5 - tie))
        last = np.where(exact, np.rint(counts), np.floor(counts + 0.5 + tie))
        return first.astype(np.int64), last.astype(np.int64)

    def _log_probability(
        self, shares: FloatArray, sizes: FloatArray, counts: FloatArray
    ) -> FloatArray:
        return np.zeros(np.shape(counts))

    def _is_off(self, shares: FloatArray, sizes: FloatArray) -> BoolArray:
        return ~fits_one_count(shares, sizes)


NEAREST_COUNT = _NearestCount()


def _in_counts(scale: float, unit: Unit, sizes: FloatArray) -> FloatArray:
    return scale * sizes if unit == "shares" else np.full(np.shape(sizes), scale)


def _check_scale(law: Any, scale: float, unit: Unit) -> None:
    name = type(law).__name__
    object.__setattr__(law, "scale", _check_positive(scale, "scale", name))
    if unit not in ("counts", "shares"):
        raise ValueError(f'unit of {name} must be "counts" or "shares", not {unit!r}.')


def _check_positive(value: float, argument: str, law: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{argument} of {law} must be a number, not {value!r}.")
    if not _SMALLEST_SCALE <= value < np.inf:
        raise ValueError(
            f"{argument} of {law} must be finite and at least {_SMALLEST_SCALE:g}, not {value!r}."
        )
    return float(value)
