# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method in a trust region, to the last digit that rounding leaves.

Steps come from conjugate gradients that stop at the border of the region or at negative curvature
(Steihaug), by :func:`scipy.optimize.minimize`. Added are an end that does not depend on the scale
of the objective, and steps beyond the point where rounding hides its decrease.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

Floats = NDArray[np.float64]

# Decrease, relative to the objective, that rounding hides, and how often in a row the region may
# shrink at such a point before the search ends.
_ROUNDING = 1e-14
_MOST_IDLE_STEPS = 3
# Decrease promised by Newton's step, relative to the objective, that is not worth a search.
_NOTHING = 1e-12
# Beyond rounding: the part of the gradient that a step must take away, and the part that solving
# for the step may leave.
_SLOWEST = 0.9
_STEP_TOLERANCE = 1e-3


class Point(Protocol):
    """An objective at one place."""

    @property
    def v(self) -> Floats:
        """Return the place."""

    @property
    def value(self) -> float:
        """Return the value."""

    @property
    def gradient(self) -> Floats:
        """Return the gradient."""


class Objective(Protocol):
    """An objective that remembers the last places it was asked about."""

    def at(self, v: Floats) -> Any:
        """Return the Point at a place."""

    def hessian_product(self, v: Floats, direction: Floats) -> Floats:
        """Return the curvature at a place times a direction."""


@dataclass(frozen=True)
class End:
    """Where a search ended.

    Parameters
    ----------
    v : ndarray
        The place.
    n_iter : int
        Steps.
    converged : bool
        Whether the gradient came below the tolerance, or rounding left nothing to gain.
    """

    v: Floats
    n_iter: int
    converged: bool


def minimise(objective: Objective, initial: Floats, *, tol: float, max_iter: int) -> End:
    """Find a local minimum.

    Parameters
    ----------
    objective : Objective
    initial : ndarray
        Where to begin.
    tol : float
        Norm of the gradient, relative to that of the place, at which to stop.
    max_iter : int
        Limit on steps.

    Returns
    -------
    End
    """
    monitor = _Monitor(objective, tol)
    if monitor.is_stationary(initial):
        return End(initial, 0, True)
    found = _minimize(objective, monitor, initial, max_iter)
    n_iter = int(found.nit)
    # Status 2: the next step would gain less than rounding.
    if not monitor.is_done and found.status != 2:
        return End(found.x, n_iter, monitor.is_stationary(found.x))
    point, n_more = _refine(objective, monitor, objective.at(found.x), max_iter - n_iter)
    return End(point.v, n_iter + n_more, True)


def _minimize(
    objective: Objective, monitor: _Monitor, initial: Floats, max_iter: int
) -> OptimizeResult:
    return minimize(
        lambda v: (objective.at(v).value, objective.at(v).gradient),
        initial,
        jac=True,
        hessp=objective.hessian_product,
        method="trust-ncg",
        callback=monitor,
        options={
            "gtol": 0.0,
            "maxiter": max_iter,
            "initial_trust_radius": min(max(1.0, 0.1 * float(np.linalg.norm(initial))), 1e8),
            "max_trust_radius": 1e9,
        },
    )


def _refine(
    objective: Objective, monitor: _Monitor, point: Point, max_steps: int
) -> tuple[Point, int]:
    """Go on where rounding hides the decrease of the objective, as long as the gradient shrinks.

    Near a minimum the objective fixes the point to the root of the precision only, the gradient
    to the precision itself.
    """
    for n_steps in range(max_steps):
        if monitor.is_stationary(point.v):
            return point, n_steps
        following = objective.at(point.v + _newton_step(objective, point))
        rise = following.value - point.value
        shrinks = np.linalg.norm(following.gradient) < _SLOWEST * np.linalg.norm(point.gradient)
        if not shrinks or rise > _ROUNDING * abs(point.value):
            return point, n_steps
        point = following
    return point, max(max_steps, 0)


def _newton_step(objective: Objective, point: Point) -> Floats:
    """Solve for Newton's step by conjugate gradients, up to the first negative curvature."""
    step, residual = np.zeros_like(point.v), -point.gradient
    direction, square = residual, float(residual @ residual)
    goal = _STEP_TOLERANCE**2 * square
    for _ in range(len(step)):
        bent = objective.hessian_product(point.v, direction)
        curvature = float(direction @ bent)
        if square <= goal or curvature <= 0.0:
            break
        length = square / curvature
        step, residual = step + length * direction, residual - length * bent
        last, square = square, float(residual @ residual)
        direction = residual + square / last * direction
    return step


@dataclass(eq=False)
class _Monitor:
    """Ends the search when the gradient is small or rounding leaves nothing to gain."""

    objective: Objective
    tol: float
    is_done: bool = False
    _value: float = np.inf
    _n_idle: int = 0

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        value = float(intermediate_result.fun)
        is_idle = self._value - value <= _ROUNDING * abs(value)
        self._n_idle = self._n_idle + 1 if is_idle else 0
        self._value = value
        if self._n_idle > _MOST_IDLE_STEPS:
            self._n_idle = 0
            self.is_done = self._has_nothing_to_gain(intermediate_result.x)
        if self.is_done or self.is_stationary(intermediate_result.x):
            self.is_done = True
            raise StopIteration

    def _has_nothing_to_gain(self, v: Floats) -> bool:
        """Tell rounding from a region that is still too large for a step to succeed."""
        point = self.objective.at(v)
        promise = -0.5 * float(point.gradient @ _newton_step(self.objective, point))
        return promise <= _NOTHING * abs(float(point.value))

    def is_stationary(self, v: Floats) -> bool:
        """Tell whether the gradient is small against the weights it must balance."""
        gradient = self.objective.at(v).gradient
        return bool(np.linalg.norm(gradient) <= self.tol * max(float(np.linalg.norm(v)), 1e-3))
