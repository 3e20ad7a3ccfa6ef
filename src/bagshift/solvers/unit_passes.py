# SPDX-License-Identifier: BSD-3-Clause
"""Passes over the units of one machine, chunk by chunk.

Sums over chunks go along a binary tree (:mod:`bagshift.solvers._sums`), so they do not depend on
who computes a chunk. The optimiser knows passes (:mod:`bagshift.solvers._linear_passes`)
only, and not where the units lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from bagshift.solvers._chunks import CHUNK_ROWS, in_order
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._row_products import as_double, stack
from bagshift.solvers._sums import Summand, Sums, add_up
from bagshift.solvers.linear_units import LinearUnits

__all__ = ["UnitPasses"]

Floats = NDArray[np.float64]
Result = TypeVar("Result")

# Of up to so many units a line is kept: 16 MiB.
_MOST_HELD = 2**20


@dataclass(frozen=True, eq=False)
class UnitPasses:
    """Passes over units in memory, or in arrays mapped into it.

    Parameters
    ----------
    units : LinearUnits
    pool : Executor, optional
        Whose threads compute a chunk at a time each; results do not depend on it.
    first_chunk : int, default=0
        Number of the first chunk, where these units are a block of more. Which units are drawn
        depends on it.
    """

    units: LinearUnits
    pool: Executor | None = None
    first_chunk: int = 0

    waits: ClassVar[bool] = False

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.units.n_units

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.units.n_features

    @property
    def total_cost(self) -> float:
        """Sum of the costs."""
        costs = self.units.costs
        parts = self._map(lambda number: np.array(costs[_rows_of(number)].sum()))
        return float(add_up(parts, self._n_chunks))

    def gathered(self) -> UnitPasses:
        """Return passes over the same units in memory.

        Returns
        -------
        UnitPasses
        """
        units = self.units.read()
        return self if units is self.units else replace(self, units=units)

    def square_sum(self) -> float:
        """Return the sum of the squares of all features.

        Returns
        -------
        float
        """
        squares = self._map(lambda number: _square_sum(self._chunk(number)))
        return float(add_up((np.array(square) for square in squares), self._n_chunks))

    def sums(self, machine: LinearMachine, smoothing: float) -> Sums:
        """Return loss, gap, slope and curvature at a machine.

        Parameters
        ----------
        machine : LinearMachine
        smoothing : float
            As :class:`LinearUnits` has it.

        Returns
        -------
        Sums
        """
        return self._add_up(lambda chunk: chunk.sums(machine, smoothing))

    @property
    def holds_lines(self) -> bool:
        """Whether the units are few enough to keep two numbers of each."""
        return are_lines_held(self.n_units)

    def line(
        self, machine: LinearMachine, direction: LinearMachine, smoothing: float
    ) -> Callable[[Floats], Floats]:
        """Return the slope of the smoothed loss along a line, as a function of places on it.

        Parameters
        ----------
        machine : LinearMachine
            Where the line begins.
        direction : LinearMachine
            Where it goes.
        smoothing : float

        Returns
        -------
        callable
            Takes an array of how far along the line the places are, and returns one of slopes;
            each call is a pass where lines are not held.
        """
        if self.holds_lines:
            held = self.along(machine, direction)
            return lambda lengths: self.slopes(held, smoothing, lengths)
        return lambda lengths: self._add_up(
            lambda chunk: chunk.slopes(
                *chunk.along(machine, direction), smoothing=smoothing, lengths=lengths
            )
        )

    def along(
        self, machine: LinearMachine, direction: LinearMachine
    ) -> list[tuple[Floats, Floats]]:
        """Return the residuals at a machine, and how scores change along a line from there.

        Parameters
        ----------
        machine, direction : LinearMachine
            As `line` has them.

        Returns
        -------
        list of tuple of ndarray
            For each chunk.
        """
        return list(self._map(lambda number: self._chunk(number).along(machine, direction)))

    def slopes(
        self, held: list[tuple[Floats, Floats]], smoothing: float, lengths: Floats
    ) -> Floats:
        """Return the slope of the smoothed loss at some places on a line that is held.

        Parameters
        ----------
        held : list of tuple of ndarray
            What `along` returned.
        smoothing : float
        lengths : ndarray of shape (n_lengths,)
            How far along the line the places are.

        Returns
        -------
        ndarray of shape (n_lengths,)
        """

        def compute(number: int) -> Floats:
            return self._chunk(number).slopes(*held[number], smoothing=smoothing, lengths=lengths)

        return add_up(self._map(compute), self._n_chunks)

    def sample(self, part: float) -> LinearUnits:
        """Draw units, with costs that stand for all of them.

        Parameters
        ----------
        part : float
            Which part of the units, up to 1.

        Returns
        -------
        LinearUnits
            In their order. The same ones every time, chunk by chunk.
        """
        return standing_for(self.n_units, self.draw(part))

    def draw(self, part: float) -> LinearUnits:
        """Draw the same units, with their own costs.

        Parameters
        ----------
        part : float

        Returns
        -------
        LinearUnits
        """
        return concatenate(self._map(lambda number: self._draw(number, part)))

    def near(self, machine: LinearMachine, width: float) -> tuple[UnitPasses, Sums]:
        """Part the units by their distance from the borders of their tubes.

        Parameters
        ----------
        machine : LinearMachine
        width : float
            In units of score.

        Returns
        -------
        near : UnitPasses
            Over those at most this far away.
        settled : Sums
            Slope of the losses of the others, as long as they stay on their sides.
        """
        parts = list(self._map(lambda number: _part(self._chunk(number), machine, width)))
        near = UnitPasses(concatenate(part[0] for part in parts), self.pool)
        return near, add_up(iter([part[1] for part in parts]), len(parts))

    def settled(self, machine: LinearMachine, width: float, later: LinearMachine) -> Sums:
        """Return loss and gap of the units that `near` left out, at a later machine.

        Those that did not stay on their sides have a gap.

        Parameters
        ----------
        machine, width
            What `near` was asked.
        later : LinearMachine

        Returns
        -------
        Sums
        """
        return self._add_up(lambda chunk: _settled(chunk, machine, width, later))

    def room(self, machine: LinearMachine, *, up: bool) -> tuple[float, float]:
        """Return what a small change of the intercept does, and how long that stays so.

        Parameters
        ----------
        machine : LinearMachine
        up : bool
            Whether the intercept grows or falls.

        Returns
        -------
        slope, room : float
            As :class:`LinearUnits` has them.
        """
        parts = list(self._map(lambda number: _room(self._chunk(number), machine, up)))
        slope = add_up((np.array(slope) for slope, _ in parts), len(parts))
        return float(slope), min(room for _, room in parts)

    def _chunk(self, number: int) -> LinearUnits:
        return (self._kept[number] if self.holds_lines else self._cut(number)).read()

    @cached_property
    def _kept(self) -> list[LinearUnits]:
        return [self._cut(number) for number in range(self._n_chunks)]

    def _cut(self, number: int) -> LinearUnits:
        return self.units.take(_rows_of(number))

    @property
    def _n_chunks(self) -> int:
        return max(-(-self.n_units // CHUNK_ROWS), 1)

    def _map(self, compute: Callable[[int], Result]) -> Iterator[Result]:
        """Compute something of every chunk's number; results come in order."""
        return in_order(self.pool, compute, self._n_chunks)

    def _add_up(self, compute: Callable[[LinearUnits], Summand]) -> Summand:
        return add_up(self._map(lambda number: compute(self._chunk(number))), self._n_chunks)

    def _draw(self, number: int, part: float) -> LinearUnits:
        chunk = self._chunk(number)
        n_drawn = round(part * chunk.n_units)
        generator = np.random.default_rng(self.first_chunk + number)
        rows = generator.choice(chunk.n_units, n_drawn, replace=False)
        return chunk.take(np.sort(rows))


def are_lines_held(n_units: int) -> bool:
    """Return whether units are few enough to keep two numbers of each.

    Parameters
    ----------
    n_units : int

    Returns
    -------
    bool
    """
    return n_units <= _MOST_HELD


def _rows_of(number: int) -> slice:
    """Return which units are those of a chunk."""
    return slice(number * CHUNK_ROWS, (number + 1) * CHUNK_ROWS)


def _room(units: LinearUnits, machine: LinearMachine, up: bool) -> tuple[float, float]:
    return units.room(units.residuals(machine), up=up)


def _square_sum(units: LinearUnits) -> float:
    return float(row_norms(as_double(units.features), squared=True).sum())


def _part(units: LinearUnits, machine: LinearMachine, width: float) -> tuple[LinearUnits, Sums]:
    residuals = units.residuals(machine)
    is_near = units.distances(residuals) <= width
    far, far_residuals = units.take(~is_near), residuals[~is_near]
    return units.take(is_near), far.settled_sums(far.sides(far_residuals), far_residuals)


def _settled(
    units: LinearUnits, machine: LinearMachine, width: float, later: LinearMachine
) -> Sums:
    residuals = units.residuals(machine)
    is_far = units.distances(residuals) > width
    far, far_residuals = units.take(is_far), residuals[is_far]
    return far.settled_sums(far.sides(far_residuals), far.residuals(later))


def concatenate(parts: Iterable[LinearUnits]) -> LinearUnits:
    """Return the units of all parts, in their order.

    Parameters
    ----------
    parts : iterable of LinearUnits

    Returns
    -------
    LinearUnits
    """
    kept = list(parts)
    names = ("targets", "half_widths", "lower", "upper")
    return LinearUnits(
        stack([part.features for part in kept]),
        *(np.concatenate([getattr(part, name) for part in kept]) for name in names),
    )


def standing_for(n_units: int, drawn: LinearUnits) -> LinearUnits:
    """Return units that were drawn, with costs that stand for all.

    Parameters
    ----------
    n_units : int
        How many they were drawn from.
    drawn : LinearUnits

    Returns
    -------
    LinearUnits
    """
    factor = n_units / drawn.n_units
    return LinearUnits(
        drawn.features,
        drawn.targets,
        drawn.half_widths,
        factor * drawn.lower,
        factor * drawn.upper,
    )
