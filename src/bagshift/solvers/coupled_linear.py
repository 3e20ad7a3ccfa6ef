# SPDX-License-Identifier: BSD-3-Clause
r"""TGPLM's machines on explicit features, for more units than a kernel matrix can hold.

The problem is the primal of :mod:`bagshift.solvers.coupled_qp` with features in place of a Gram
matrix: two linear machines, :math:`\ell_i` the hinge or tube loss of a unit
(:mod:`bagshift.solvers.linear_units`),

.. math::

    \min_{w_h, b_h, w_c, b_c}\ \tfrac12\|w_c\|^2 + \tfrac12\|w_h\|^2
    + \tfrac\lambda2\bigl(\|w_c - w_h\|^2 + (b_c - b_h)^2\bigr)
    + \sum_{i \in \text{source}} \ell_i(w_h^\top x_i + b_h)
    + \sum_{k \in \text{target}} \ell_k(w_c^\top m_k + b_c) .

**Method.** Newton's method on smoothed losses, whose rounded parts shrink step by step. A step is
a pass over the units in chunks, for slope and curvature at once: only units in the rounded part of
their loss enter the curvature, and the number of passes does not grow with the number of units.
Many units start from the solution on a sample. In the end all units but those near a border of
their tubes have settled on a side, where their loss is straight; the method of multipliers on the
few others then comes to the exact minimum, and one more pass tells whether all have stayed.

The intercepts are unknowns like any other and not penalised by themselves, exactly as in the
quadratic program. Work and memory grow with the square of the number of features: beyond some
thousand columns, or with sparse rows, take :mod:`bagshift.solvers.coordinate_descent`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers._chunks import both, threads
from bagshift.solvers._coordinates import (
    Coordinates,
    LinearMachine,
    Machines,
    coordinates_of,
    row_length_of,
)
from bagshift.solvers._flat_intercepts import centre_intercepts
from bagshift.solvers._linear_passes import LinearPasses
from bagshift.solvers._smoothed_newton import Part, SmoothedPoint, SmoothedProblem, minimise
from bagshift.solvers.coupled_qp import NEGLIGIBLE_COUPLING
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.unit_passes import UnitPasses

__all__ = [
    "CoupledLinearProblem",
    "CoupledLinearResult",
    "Machines",
    "solve_coupled_linear",
    "solve_coupled_linear_passes",
]

Floats = NDArray[np.float64]

# Widths of the rounded parts on the way to all units' sides, in units of score, and what the
# gradient may be worth there, relative to the objective; then the same after a good start.
_ROUGH = ((1.0, 1e-3), (0.1, 1e-4), (0.01, 1e-5))
_ROUGH_AFTER_START = ((0.1, 1e-4),)
# Widths on the way to the exact minimum, by the method of multipliers.
_SHARP = (1e-3, 1e-4, 1e-5, 1e-6)
_MOST_MORE = 3
# Up to so many units are all looked at until the end; of more, a sample of so many leads the way.
_MANY_UNITS = 50_000
# Others are taken to have settled when this far from a border, in units of score, or as far as
# leaves so many.
_WIDTH, _MOST_NEAR = 0.1, 200_000


@dataclass(frozen=True, eq=False)
class CoupledLinearProblem:
    """Data of the coupled linear problem.

    Parameters
    ----------
    source : LinearUnits or None
        Labelled source rows; without them the target machine stands alone.
    target : LinearUnits
        Means of bags, and labelled target rows.
    coupling : float
        From 0 to infinity; plays no part without a source.
    """

    source: LinearUnits | None
    target: LinearUnits
    coupling: float

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.target.n_features


@dataclass(frozen=True, eq=False)
class CoupledLinearResult:
    """Solution of a coupled linear problem.

    Parameters
    ----------
    machines : Machines
    objective : float
        Value of the problem, with exact losses.
    dual_gap : float
        Bounds its distance from the optimum.
    intercept_interval : tuple of float
        Lowest and highest intercept of the target machine that are optimal with these weights; may
        be infinite. The machines have the middle of what is optimal, or its finite end.
    n_iter : int
        Passes over the units.
    converged : bool
    """

    machines: Machines
    objective: float
    dual_gap: float
    intercept_interval: tuple[float, float]
    n_iter: int
    converged: bool


def solve_coupled_linear(
    problem: CoupledLinearProblem,
    *,
    tol: float = 1e-8,
    start: Machines | None = None,
    max_iter: int = 1000,
    n_threads: int = 1,
) -> CoupledLinearResult:
    """Solve a coupled linear problem.

    Parameters
    ----------
    problem : CoupledLinearProblem
    tol : float, default=1e-8
        Duality gap, relative to the objective, at which to stop.
    start : Machines, optional
        Where to begin; zero by default, or the solution on a sample of many units.
    max_iter : int, default=1000
        Limit on passes over the units.
    n_threads : int, default=1
        The result does not depend on it.

    Returns
    -------
    CoupledLinearResult
    """
    with threads(n_threads) as pool:
        return solve_coupled_linear_passes(
            None if problem.source is None else UnitPasses(problem.source, pool),
            UnitPasses(problem.target, pool),
            problem.coupling,
            tol=tol,
            start=start,
            max_iter=max_iter,
        )


def solve_coupled_linear_passes(
    source: LinearPasses | None,
    target: LinearPasses,
    coupling: float,
    *,
    tol: float = 1e-8,
    start: Machines | None = None,
    max_iter: int = 1000,
) -> CoupledLinearResult:
    """Solve a coupled linear problem by passes over units, wherever they lie.

    Parameters
    ----------
    source : LinearPasses or None
        Over labelled source rows; without them the target machine stands alone.
    target : LinearPasses
        Over means of bags, and labelled target rows.
    coupling : float
        From 0 to infinity; plays no part without a source.
    tol : float, default=1e-8
        Duality gap, relative to the objective, at which to stop.
    start : Machines, optional
        Where to begin; zero by default, or the solution on a sample of many units.
    max_iter : int, default=1000
        Limit on passes over the units.

    Returns
    -------
    CoupledLinearResult
    """
    parts = [passes for passes in (source, target) if passes is not None]
    squares = sum(passes.square_sum() for passes in parts)
    row_length = row_length_of(squares, sum(passes.n_units for passes in parts))
    coordinates = coordinates_of(
        target.n_features, None if source is None else coupling, row_length=row_length
    )
    search = _Search(source, target, coordinates, tol, max_iter)
    point = search.run(None if start is None else coordinates.encode(start))
    machines = coordinates.decode(point.v)
    interval = (machines.target_intercept, machines.target_intercept)
    if point.n_free == 0 or (source is not None and coupling < NEGLIGIBLE_COUPLING):
        machines, interval = centre_intercepts(machines, source, target, coupling)
    return CoupledLinearResult(
        machines=machines,
        objective=float(point.value / row_length**2),
        dual_gap=float(point.gap / row_length**2),
        intercept_interval=interval,
        n_iter=search.n_passes,
        converged=bool(point.gap <= tol * point.value),
    )


def are_few(n_units: int) -> bool:
    """Return whether units are so few that all are looked at until the end.

    Parameters
    ----------
    n_units : int
        Of both machines.

    Returns
    -------
    bool
    """
    return n_units <= _MANY_UNITS


# Search -----------------------------------------------------------------------------------


@dataclass(eq=False)
class _Search:
    """The way to the minimum; see the module's head."""

    source: LinearPasses | None
    target: LinearPasses
    coordinates: Coordinates
    tol: float
    max_iter: int
    n_passes: int = 0

    def run(self, start: Floats | None) -> SmoothedPoint:
        """Return the exact minimum, or where the limit of passes was met."""
        is_few = are_few(self._n_units)
        if start is None and is_few:
            point = self._smoothly(np.zeros(self.coordinates.size), _ROUGH)
            return self._exactly(point, np.inf)
        point = self._smoothly(self._on_sample() if start is None else start, _ROUGH_AFTER_START)
        if is_few:
            return self._exactly(point, np.inf)
        smoothing, worth = _ROUGH_AFTER_START[-1]
        width = min(_WIDTH, 0.5 * smoothing * _MOST_NEAR / max(point.n_free, 1))
        while self.n_passes < self.max_iter:
            proposal = self._exactly(point, width)
            if proposal.value <= point.value:
                point = proposal
                if point.gap <= self.tol * point.value:
                    break
            else:
                # Units far on their sides went astray; begin nearer to the end, and look wider.
                smoothing, worth = max(smoothing / 10.0, _SHARP[0]), worth / 10.0
                point = self._smoothly(point.v, ((smoothing, worth),))
                width *= 2.0
        return point

    @property
    def _n_units(self) -> int:
        return sum(passes.n_units for passes in (self.source, self.target) if passes is not None)

    def _on_sample(self) -> Floats:
        part = _MANY_UNITS / self._n_units
        sample = replace(
            self,
            source=None if self.source is None else UnitPasses(self.source.sample(part)),
            target=UnitPasses(self.target.sample(part)),
        )
        return sample._smoothly(np.zeros(self.coordinates.size), _ROUGH).v

    def _smoothly(self, v: Floats, stages: tuple[tuple[float, float], ...]) -> SmoothedPoint:
        """Return the minimum of a smoothed problem, by way of smoother ones."""
        nothing = np.zeros(self.coordinates.n_features + 1)
        source, target = Part(self.source, nothing), Part(self.target, nothing)
        for smoothing, worth in stages:
            objective = SmoothedProblem(source, target, self.coordinates, smoothing)
            point = self._minimum(objective, v, worth)
            v = point.v
        return replace(point, gap=point.gap + point.slack)

    def _exactly(self, point: SmoothedPoint, width: float) -> SmoothedPoint:
        """Return the exact minimum, if all units farther than `width` stay on their sides."""
        machines = self.coordinates.decode(point.v)
        source, target = both(
            lambda: _near(self.source, machines.source, width),
            lambda: _near(self.target, machines.target, width),
            together=self.target.waits and self.source is not None,
        )
        near = point
        for smoothing in chain(_SHARP, repeat(_SHARP[-1], _MOST_MORE)):
            objective = SmoothedProblem(source, target, self.coordinates, smoothing)
            near = self._minimum(objective, near.v, 0.01 * self.tol)
            if near.gap + near.slack <= 0.5 * self.tol * near.value:
                break
            found = self.coordinates.decode(near.v)
            source = source.anchored(found.source, smoothing)
            target = target.anchored(found.target, smoothing)
        later = self.coordinates.decode(near.v)
        settled = [
            passes.settled(machine, width, end)
            for passes, machine, end in (
                (self.source, machines.source, later.source),
                (self.target, machines.target, later.target),
            )
            if passes is not None and np.isfinite(width)
        ]
        unit = self.coordinates.row_length**2
        return replace(
            near,
            value=near.value + unit * sum(sums.loss for sums in settled),
            gap=near.gap + near.slack + unit * sum(sums.gap for sums in settled),
        )

    def _minimum(self, objective: SmoothedProblem, v: Floats, worth: float) -> SmoothedPoint:
        left = max(self.max_iter - self.n_passes, 1)
        point, n_passes = minimise(objective, v, worth=worth, max_iter=left)
        self.n_passes += n_passes
        return point


def _near(passes: LinearPasses | None, machine: LinearMachine, width: float) -> Part:
    """Return the units that the exact minimum is searched with, in memory."""
    if passes is None or np.isinf(width):
        gathered = None if passes is None else passes.gathered()
        return Part(gathered, np.zeros(len(machine.weights) + 1))
    near, settled = passes.near(machine, width)
    return Part(near, settled.slope)
