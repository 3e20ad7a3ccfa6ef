# SPDX-License-Identifier: BSD-3-Clause
r"""Newton's method in a trust region, to the last digit that rounding leaves.

A step minimises the quadratic model in a ball, by conjugate gradients that stop at its border or
at negative curvature (Steihaug [1]_); the ball grows and shrinks with the part of the promised
decrease that was kept ([2]_, algorithm 4.1). It differs from :func:`scipy.optimize.minimize` with
"trust-ncg" in its end, which does not depend on the scale of the objective and goes on beyond the
point where rounding hides a decrease, and in that the curvature along a step is kept from the
conjugate gradients instead of asked for again: products with the curvature are all the cost.

References
----------
.. [1] T. Steihaug. The conjugate gradient method and trust regions in large scale optimization.
   SIAM Journal on Numerical Analysis 20(3), 1983.
.. [2] J. Nocedal, S. Wright. Numerical Optimization, 2nd edition, Springer, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Part of the promised decrease that a step must keep to be taken, to leave the ball as it is, and
# to let it grow.
_TAKEN, _POOR, _GOOD = 0.15, 0.25, 0.75
_SHRINK, _GROW = 0.25, 2.0
_LARGEST_RADIUS = 1e9
# Steps so short, relative to the place, do not change it.
_LOST = 1e-16
# Decrease, relative to the objective, that rounding hides, and how often in a row there may be
# no more before Newton's step is asked whether the search has come to its end.
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
    """An objective with a gradient and products with a curvature."""

    def at(self, v: Floats) -> Any:
        """Return the Point at a place."""

    def hessian_product(self, point: Any, direction: Floats) -> Floats:
        """Return the curvature at a point times a direction."""


# From a point to Newton's step, or to None where the curvature is not positive.
NewtonStep = Callable[[Any], Floats | None]


@dataclass(frozen=True)
class End:
    """Where a search ended.

    Parameters
    ----------
    point : Point
        The place, with its value and gradient.
    n_iter : int
        Steps.
    converged : bool
        Whether the gradient came below the tolerance, or rounding left nothing to gain.
    """

    point: Any
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class _Step:
    """A step in the ball.

    Parameters
    ----------
    move : ndarray
    promise : float
        Decrease of the quadratic model.
    at_border : bool
        Whether the ball kept it short.
    """

    move: Floats
    promise: float
    at_border: bool


def minimise(
    objective: Objective,
    initial: Floats,
    *,
    tol: float,
    max_iter: int,
    newton_step: NewtonStep | None = None,
) -> End:
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
    newton_step : callable, optional
        From a Point to Newton's step there, or to None where the curvature is not positive. For
        objectives whose curvature is at hand: steps are then cheap, and places dear.

    Returns
    -------
    End
    """
    point = objective.at(initial)
    radius = min(max(1.0, 0.1 * float(np.linalg.norm(initial))), 1e8)
    n_idle = 0
    for n_iter in range(max_iter):
        if _is_stationary(point, tol):
            return End(point, n_iter, True)
        goal = _STEP_TOLERANCE
        if newton_step is None:
            goal = min(0.5, float(np.linalg.norm(point.gradient)) ** 0.5)
        step = _step(objective, point, radius, goal, newton_step)
        if newton_step is not None and _is_nothing(step, point):
            return _refine(objective, point, tol, n_iter, max_iter, newton_step)
        proposal = objective.at(point.v + step.move)
        gain = point.value - proposal.value
        kept = gain / step.promise if step.promise > 0.0 else -np.inf
        if not kept >= _POOR:
            radius *= _SHRINK
        elif kept > _GOOD and step.at_border:
            radius = min(_GROW * radius, _LARGEST_RADIUS)
        is_taken = kept > _TAKEN
        n_idle = 0 if is_taken and gain > _ROUNDING * abs(proposal.value) else n_idle + 1
        point = proposal if is_taken else point
        is_over = step.promise <= 0.0
        if n_idle > _MOST_IDLE_STEPS:
            # Tells rounding from a ball that is still too large for a step to succeed.
            newton = _step(objective, point, np.inf, _STEP_TOLERANCE, newton_step)
            is_over = newton.promise <= _NOTHING * abs(point.value)
            n_idle = 0
        if radius <= _LOST * max(float(np.linalg.norm(point.v)), 1e-100):
            return End(point, n_iter + 1, _is_stationary(point, tol))
        if is_over:
            return _refine(objective, point, tol, n_iter + 1, max_iter, newton_step)
    return End(point, max_iter, _is_stationary(point, tol))


def _is_stationary(point: Point, tol: float) -> bool:
    """Tell whether the gradient is small against the weights it must balance."""
    length = max(float(np.linalg.norm(point.v)), 1e-3)
    return bool(np.linalg.norm(point.gradient) <= tol * length)


def _is_nothing(step: _Step, point: Point) -> bool:
    """Tell whether a step that the ball did not keep short promises nothing worth a search."""
    return not step.at_border and step.promise <= _NOTHING * abs(point.value)


def _refine(
    objective: Objective,
    point: Any,
    tol: float,
    n_iter: int,
    max_iter: int,
    newton_step: NewtonStep | None,
) -> End:
    """Go on where rounding hides the decrease of the objective, as long as the gradient shrinks.

    Near a minimum the objective fixes the point to the root of the precision only, the gradient
    to the precision itself.
    """
    while n_iter < max_iter and not _is_stationary(point, tol):
        newton = _step(objective, point, np.inf, _STEP_TOLERANCE, newton_step)
        following = objective.at(point.v + newton.move)
        rise = following.value - point.value
        shrinks = np.linalg.norm(following.gradient) < _SLOWEST * np.linalg.norm(point.gradient)
        if not shrinks or rise > _ROUNDING * abs(point.value):
            break
        point, n_iter = following, n_iter + 1
    return End(point, n_iter, True)


def _step(
    objective: Objective,
    point: Point,
    radius: float,
    goal: float,
    newton_step: NewtonStep | None,
) -> _Step:
    """Return Newton's step where it is known and in the ball, else one of conjugate gradients."""
    newton = None if newton_step is None else newton_step(point)
    if newton is not None and float(np.linalg.norm(newton)) < radius:
        return _Step(newton, -0.5 * float(point.gradient @ newton), False)
    return _steihaug_step(objective, point, radius, goal)


def _steihaug_step(objective: Objective, point: Point, radius: float, goal: float) -> _Step:
    """Minimise the quadratic model in a ball, up to the first negative curvature.

    In a ball without a border, what is known before negative curvature is the step. `goal` is the
    part of the gradient that the step may leave.
    """
    move, bent_move = np.zeros_like(point.v), np.zeros_like(point.v)
    residual = point.gradient
    direction, square = -residual, float(residual @ residual)
    target = goal * square**0.5
    at_border = False
    for _ in range(2 * len(move)):
        if square**0.5 <= target:
            break
        bent = objective.hessian_product(point, direction)
        curvature = float(direction @ bent)
        if curvature <= 0.0 and np.isinf(radius):
            break
        length = square / curvature if curvature > 0.0 else 0.0
        following = move + length * direction
        with np.errstate(over="ignore"):
            reach = float(np.linalg.norm(following))
        if np.isinf(reach) and np.isinf(radius):
            # Curvature that has all but vanished, as where a loss has become straight.
            break
        at_border = bool(curvature <= 0.0 or reach >= radius)
        if at_border:
            length = _to_border(move, direction, radius, slope=-square, curvature=curvature)
            following = move + length * direction
        move, bent_move = following, bent_move + length * bent
        if at_border:
            break
        residual = residual + length * bent
        last_square, square = square, float(residual @ residual)
        direction = square / last_square * direction - residual
    promise = -float(point.gradient @ move) - 0.5 * float(move @ bent_move)
    return _Step(move, promise, at_border)


def _to_border(
    move: Floats, direction: Floats, radius: float, *, slope: float, curvature: float
) -> float:
    """Return how far it is along a line to the border of the ball.

    Along negative curvature the model falls on both sides; then it is the lower of the two.
    """
    a = float(direction @ direction)
    b = float(move @ direction)
    c = float(move @ move) - radius * radius
    far = -(b + math.copysign(math.sqrt(max(b * b - a * c, 0.0)), b))
    back, ahead = sorted((far / a, c / far))
    if curvature > 0.0:
        return ahead
    return min(back, ahead, key=lambda t: slope * t + 0.5 * curvature * t * t)
