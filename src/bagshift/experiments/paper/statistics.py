# SPDX-License-Identifier: BSD-3-Clause
"""Means over draws and paired differences with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from bagshift.experiments.cells import Cell, CellKey
from bagshift.experiments.pages import Estimate

Where = Literal["in_sample", "fresh"]
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over draws with a 95 % interval of Student's t.

    Attributes
    ----------
    mean, low, high : float
        The interval is infinite with fewer than two draws.
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write it in points of accuracy."""
        mean, low, high = (100 * value for value in (self.mean, self.low, self.high))
        if not np.isfinite(low):
            return f"{mean:+.2f}"
        return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"

    @property
    def estimate(self) -> Estimate:
        """The same for a table, where an infinite interval is none."""
        return (
            Estimate(self.mean, self.low, self.high)
            if np.isfinite(self.low)
            else Estimate(self.mean)
        )

    @property
    def is_above_zero(self) -> bool:
        """Whether all of it is; not when it has no width, as equal draws say nothing of others."""
        return self.high > self.low > 0

    @property
    def is_below_zero(self) -> bool:
        """Whether all of it is; not when it has no width."""
        return self.low < self.high < 0


def interval(values: ArrayLike) -> Interval:
    """Return the mean of values, one per draw, and its interval.

    Parameters
    ----------
    values : array-like of shape (n_draws,)
        Such as differences between two methods on the same draws.

    Returns
    -------
    Interval
        Of no width when all values are equal.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    mean = float(known.mean()) if len(known) else float("nan")
    if len(known) < 2:
        return Interval(mean, -np.inf, np.inf)
    error = known.std(ddof=1) / len(known) ** 0.5
    half = float(student.ppf(0.5 + LEVEL / 2, len(known) - 1) * error)
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Results:
    """Cells to be read by task, bag size and method.

    Attributes
    ----------
    cells : mapping of tuple to Cell
        By their keys.
    """

    cells: Mapping[CellKey, Cell]

    @property
    def n_draws(self) -> int:
        """Number of different draws."""
        return len({cell.draw for cell in self.cells.values()})

    @property
    def draws(self) -> str:
        """That number in words that go on a caption."""
        return f"{self.n_draws} draw" + ("" if self.n_draws == 1 else "s")

    @property
    def n_failed(self) -> int:
        """Number of cells that ended with an error."""
        return sum(cell.status == "failed" for cell in self.cells.values())

    def has(self, task: str, method: str) -> bool:
        """Tell whether there is a cell of a method on a task.

        Parameters
        ----------
        task, method : str
            Of the cells.

        Returns
        -------
        bool
        """
        return any(cell.task == task and cell.method == method for cell in self.cells.values())

    def of(self, where: Where, task: str, bag_size: int, method: str) -> NDArray[np.float64]:
        """Return the accuracies of a method by draw.

        Parameters
        ----------
        where : {"in_sample", "fresh"}
            On the bagged rows, or on those of no bag.
        task : str
            Of the cells.
        bag_size : int
            Of the cells.
        method : str
            Of the cells.

        Returns
        -------
        ndarray of shape (n_draws,)
            In the order of the draws; NaN where there is none.
        """
        draws = sorted({cell.draw for cell in self.cells.values()})
        found = (self.cells.get((task, "random", bag_size, method, draw)) for draw in draws)
        return np.array([np.nan if cell is None else getattr(cell, where) for cell in found])

    def mean(self, where: Where, task: str, bag_size: int, method: str) -> float:
        """Return the mean of :meth:`of`, NaN when there is none.

        Parameters
        ----------
        where : {"in_sample", "fresh"}
            On the bagged rows, or on those of no bag.
        task : str
            Of the cells.
        bag_size : int
            Of the cells.
        method : str
            Of the cells.

        Returns
        -------
        float
        """
        return interval(self.of(where, task, bag_size, method)).mean

    def over_sizes(
        self, where: Where, task: str, bag_sizes: Sequence[int], method: str
    ) -> NDArray[np.float64]:
        """Return the accuracies of a method by draw and bag size.

        Parameters
        ----------
        where : {"in_sample", "fresh"}
            On the bagged rows, or on those of no bag.
        task : str
            Of the cells.
        bag_sizes : sequence of int
            Of the cells.
        method : str
            Of the cells.

        Returns
        -------
        ndarray of shape (n_draws, n_bag_sizes)
        """
        return np.column_stack([self.of(where, task, size, method) for size in bag_sizes])
