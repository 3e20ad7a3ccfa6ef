# SPDX-License-Identifier: BSD-3-Clause
"""A number with the interval that it is known within."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Interval"]


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
