# SPDX-License-Identifier: BSD-3-Clause
"""Passes over labelled rows or rows in bags, chunk by chunk.

Sums over chunks go along a binary tree (:mod:`bagshift.solvers._sums`), so they do not depend on
who computes a chunk. The optimiser knows :class:`Passes` only, and not where the rows lie: a
stream from files or a cluster gives the same sums when its chunks begin where
:meth:`~bagshift.solvers.count_rows.CountedRows.borders` says and are added along the same tree,
and the same sample when each chunk is asked for the units that :func:`drawn` names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers._chunks import CHUNK_ROWS, in_order
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._sums import Sums, add_up
from bagshift.solvers.count_rows import CountedRows, LabelledRows

__all__ = ["Passes", "RowPasses", "drawn"]

Rows = LabelledRows | CountedRows
Result = TypeVar("Result")


class Passes(Protocol):
    """What the optimiser asks of the rows of one machine, wherever they lie."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""

    @property
    def n_units(self) -> int:
        """Return the number of bags, or of labelled rows."""

    @property
    def n_features(self) -> int:
        """Return the number of features."""

    @property
    def waits(self) -> bool:
        """Return whether others compute the answers, so that two can be waited for at once."""

    def sums(self, machine: LinearMachine) -> Sums:
        """Return loss, slope and curvature at a machine; the gap is 0."""

    def sample(self, part: float) -> Rows | None:
        """Draw about this part of the units, with costs that stand for all.

        The same ones every time; None when none was drawn.
        """


@dataclass(frozen=True, eq=False)
class RowPasses:
    """Passes over rows in memory, or in arrays mapped into it.

    Parameters
    ----------
    rows : LabelledRows or CountedRows
    pool : Executor, optional
        Whose threads compute a chunk at a time each; results do not depend on it.
    chunk_rows : int, default=8192
        Rows of a chunk. Part of what a sum is to the last digit, and of what is sampled.
    first_chunk : int, default=0
        Number of the first chunk, where these rows are a block of more. Which units are drawn
        depends on it.
    """

    rows: Rows
    pool: Executor | None = None
    chunk_rows: int = CHUNK_ROWS
    first_chunk: int = 0
    waits: ClassVar[bool] = False
    _borders: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_borders", self.rows.borders(self.chunk_rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def n_units(self) -> int:
        """Number of bags, or of labelled rows."""
        return self.rows.n_units

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.n_features

    def sums(self, machine: LinearMachine, *, with_curvature: bool = True) -> Sums:
        """Return loss, slope and curvature at a machine.

        Parameters
        ----------
        machine : LinearMachine
        with_curvature : bool, default=True

        Returns
        -------
        Sums
        """
        parts = self._map(lambda i: self._chunk(i).sums(machine, with_curvature=with_curvature))
        return add_up(parts, self._n_chunks)

    def sample(self, part: float) -> Rows | None:
        """Draw units, with costs that stand for all of them.

        Parameters
        ----------
        part : float
            Which part of the units, about; from 0 to 1.

        Returns
        -------
        LabelledRows or CountedRows or None
            In their order, the same ones every time, chunk by chunk; None when none was drawn.
        """
        return standing_for(self.n_units, [self.draw(part)])

    def draw(self, part: float) -> Rows | None:
        """Draw the same units, with their own costs.

        Parameters
        ----------
        part : float

        Returns
        -------
        LabelledRows or CountedRows or None
        """
        return _joined(list(self._map(lambda i: self._draw(i, part))))

    @property
    def _n_chunks(self) -> int:
        return len(self._borders) - 1

    def _chunk(self, number: int) -> Rows:
        return self.rows.between(self._borders[number], self._borders[number + 1])

    def _draw(self, number: int, part: float) -> Rows | None:
        chunk = self._chunk(number)
        units = drawn(self.first_chunk + number, chunk.n_units, part)
        return chunk.take(units) if len(units) else None

    def _map(self, compute: Callable[[int], Result]) -> Iterator[Result]:
        """Compute something of every chunk's number; results come in order."""
        return in_order(self.pool, compute, self._n_chunks)


def drawn(number: int, n_units: int, part: float) -> NDArray[np.int64]:
    """Draw units of a chunk: each is taken with the same chance.

    Parameters
    ----------
    number : int
        The number of the chunk, which the draw depends on.
    n_units : int
    part : float
        The chance, from 0 to 1.

    Returns
    -------
    int64 ndarray
        Their numbers in the chunk, rising.

    Examples
    --------
    >>> len(drawn(7, 1000, 0.05)), len(drawn(7, 1000, 1.0))
    (52, 1000)
    """
    return np.flatnonzero(np.random.default_rng(number).random(n_units) < part)


def standing_for(n_units: int, parts: list[Rows | None]) -> Rows | None:
    """Return units that were drawn, with costs that stand for all.

    Parameters
    ----------
    n_units : int
        How many they were drawn from.
    parts : list of LabelledRows or CountedRows or None
        What was drawn of each block; None where nothing was.

    Returns
    -------
    LabelledRows or CountedRows or None
    """
    sample = _joined(parts)
    return None if sample is None else sample.scaled(n_units / sample.n_units)


def _joined(parts: list[Rows | None]) -> Rows | None:
    found = [part for part in parts if part is not None]
    return type(found[0]).concatenate(found) if found else None  # type: ignore[arg-type]
