# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method for the coupled logistic problem, in few passes over many rows.

A pass gives value, gradient and curvature at once (:mod:`bagshift.solvers.count_passes`), so a
step of the trust region costs one pass, whatever it takes to compute the step. The curvature of
bags stands in for their Hessian; what steps tell of the difference
(:mod:`bagshift.solvers._secants`) costs no pass and makes the last steps superlinear.

Many rows start from the solution on a sample of whole bags and source rows, whose costs stand for
all. What the sample tells of the missing curvature is kept.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from bagshift.solvers._chunks import both
from bagshift.solvers._coordinates import (
    Coordinates,
    Machines,
    coordinates_of,
    typical_row_length,
)
from bagshift.solvers._secants import CurvedPoint, corrected
from bagshift.solvers._sums import Sums, in_unknowns
from bagshift.solvers._trust_region import End, minimise
from bagshift.solvers.count_passes import Passes, RowPasses, Rows

Floats = NDArray[np.float64]

# A sample has this part of the units, or as many as make so many rows at most; so many rows at
# least, and so many bags and source rows for each unknown. Where that takes more than a quarter
# of the data, the way begins with all of them, and few rows tell how long a row is.
_PART, _MOST_ROWS, _LEAST_ROWS, _LEAST_UNITS = 0.05, 200_000, 50_000, 20
_LARGEST_PART, _FEW_ROWS = 0.25, 5_000
# A start that the sample betters by less than this part of the objective is near the minimum.
_NEAR = 0.01


@dataclass(frozen=True, eq=False)
class PassesEnd:
    """Where a search by passes ended.

    Attributes
    ----------
    coordinates : Coordinates
        What the unknowns mean.
    end : End
    n_passes : int
        Passes over all rows.
    """

    coordinates: Coordinates
    end: End
    n_passes: int


def search(
    source: Passes | None,
    target: Passes,
    coupling: float,
    *,
    start: Machines | None,
    tol: float,
    max_iter: int,
    row_length: float | None = None,
    pool: Executor | None = None,
) -> PassesEnd:
    """Find a local minimum.

    Parameters
    ----------
    source : Passes or None
    target : Passes
    coupling : float
    start : Machines or None
        Where to begin; None for zero.
    tol : float
        Norm of the gradient, relative to that of the weights, at which to stop.
    max_iter : int
        Limit on steps over all rows.
    row_length : float, optional
        About the length of a row of features; by default of rows that are drawn.
    pool : Executor, optional
        Whose threads go over the sample.

    Returns
    -------
    PassesEnd
    """
    part, leads = _part(source, target)
    sample = _Sample(None, None)
    if leads or row_length is None:
        sample = _Sample(None if source is None else source.sample(part), target.sample(part))
    unit = sample.row_length if row_length is None else row_length
    coordinates = coordinates_of(
        target.n_features, None if source is None else coupling, row_length=unit
    )
    v = np.zeros(coordinates.size) if start is None else coordinates.encode(start)
    missing = np.zeros((coordinates.size, coordinates.size))
    if leads:
        led = sample.objective(coordinates, missing, pool)
        v, missing = _lead(led, v, tol, max_iter), led.missing
    objective = PassesObjective(source, target, coordinates, missing)
    end = minimise(objective, v, tol=tol, max_iter=max_iter, newton_step=objective.newton_step)
    return PassesEnd(coordinates, end, objective.n_passes)


# Sample -----------------------------------------------------------------------------------


def _part(source: Passes | None, target: Passes) -> tuple[float, bool]:
    """Return which part of the units to draw, and whether that is enough to lead the way."""
    domains = [passes for passes in (source, target) if passes is not None]
    n_rows = sum(passes.n_rows for passes in domains)
    part = max(min(_PART, _MOST_ROWS / n_rows), _LEAST_ROWS / n_rows)
    n_least = _LEAST_UNITS * (target.n_features + 1)
    enough = max(part, *(n_least / passes.n_units for passes in domains))
    return (enough, True) if enough <= _LARGEST_PART else (min(1.0, _FEW_ROWS / n_rows), False)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows drawn from each domain; None where none were."""

    source: Rows | None
    target: Rows | None

    @property
    def row_length(self) -> float:
        parts = [rows.features for rows in (self.source, self.target) if rows is not None]
        return typical_row_length(parts) if parts else 1.0

    def objective(
        self, coordinates: Coordinates, missing: Floats, pool: Executor | None
    ) -> PassesObjective:
        source, target = (
            None if rows is None else RowPasses(rows, pool) for rows in (self.source, self.target)
        )
        return PassesObjective(source, target, coordinates, missing)


def _lead(objective: PassesObjective, v: Floats, tol: float, max_iter: int) -> Floats:
    """Return the place that a sample leads to, or the start where that is near already."""
    first = objective.at(v)
    end = minimise(objective, v, tol=tol, max_iter=max_iter, newton_step=objective.newton_step)
    is_near = first.value - end.point.value < _NEAR * first.value
    return v if is_near else np.asarray(end.point.v)


# Objective --------------------------------------------------------------------------------


@dataclass(eq=False)
class PassesObjective:
    """The problem, multiplied by the square of the length of a row.

    Attributes
    ----------
    source, target : Passes or None
    coordinates : Coordinates
        What the unknowns mean, and the length of a row.
    missing : ndarray of shape (size, size)
        What is known of the difference of the Hessian from the curvature.
    n_passes : int
        How many there were.
    """

    source: Passes | None
    target: Passes | None
    coordinates: Coordinates
    missing: Floats
    n_passes: int = 0
    _last: list[CurvedPoint] = field(default_factory=list)

    def at(self, v: Floats) -> CurvedPoint:
        machines = self.coordinates.decode(v)
        nothing = Sums(0.0, 0.0, np.zeros(self.coordinates.n_features + 1))
        parts = (self.source, self.target)
        source, target = both(
            lambda: nothing if self.source is None else self.source.sums(machines.source),
            lambda: nothing if self.target is None else self.target.sums(machines.target),
            together=all(part is not None and part.waits for part in parts),
        )
        self.n_passes += 1
        found = in_unknowns(self.coordinates, v, source, target)
        point = CurvedPoint(
            v=v, value=found.value, gradient=found.gradient, curvature=found.curvature
        )
        self._learn(point)
        return point

    def hessian_product(self, point: CurvedPoint, direction: Floats) -> Floats:
        return point.curvature @ direction + self.missing @ direction

    def newton_step(self, point: CurvedPoint) -> Floats | None:
        """Return Newton's step, or None where the curvature is not positive."""
        try:
            factor = cho_factor(point.curvature + self.missing, overwrite_a=True)
        except (LinAlgError, ValueError):
            return None
        return -np.asarray(cho_solve(factor, point.gradient))

    def _learn(self, point: CurvedPoint) -> None:
        if self._last:
            origin = min(self._last, key=lambda last: float(np.linalg.norm(point.v - last.v)))
            self.missing = corrected(self.missing, origin, point)
        self._last = [*self._last[-1:], point]
