# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with the intervals that they are known within."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interval", "Intervals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval.

    Parameters
    ----------
    estimate : float
    low, high : float
        Ends of the interval.
    level : float, default=0.95
        How often such an interval is to hold the truth.
    """

    estimate: float
    low: float
    high: float
    level: float = 0.95

    @property
    def width(self) -> float:
        """From one end to the other."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, eq=False)
class Intervals:
    """Many estimates and their intervals; each holds by itself, not all at once.

    Parameters
    ----------
    estimate : ndarray
    low, high : ndarray
        Ends of the intervals, of the shape of the estimates.
    level : float, default=0.95
        How often each interval is to hold the truth.
    """

    estimate: Floats
    low: Floats
    high: Floats
    level: float = 0.95

    @property
    def width(self) -> Floats:
        """From one end to the other."""
        return self.high - self.low

    def __len__(self) -> int:
        return len(self.estimate)

    def __getitem__(self, number: int) -> Interval:
        estimate, low, high = (part[number] for part in (self.estimate, self.low, self.high))
        return Interval(float(estimate), float(low), float(high), self.level)

    def __iter__(self) -> Iterator[Interval]:
        return (self[number] for number in range(len(self)))

    @classmethod
    def of_replicates(cls, estimate: Floats, replicates: Floats, level: float) -> Intervals:
        """Take quantiles of replicates of the bootstrap as the ends.

        Parameters
        ----------
        estimate : ndarray of shape (n,)
        replicates : ndarray of shape (n_replicates, n)
        level : float

        Returns
        -------
        Intervals
        """
        tail = 0.5 * (1.0 - level)
        # So that the next replicate lies between the ends with just this chance.
        low, high = np.quantile(replicates, [tail, 1.0 - tail], axis=0, method="weibull")
        return cls(estimate, low, high, level)
