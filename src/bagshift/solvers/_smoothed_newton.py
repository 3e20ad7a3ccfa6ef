# SPDX-License-Identifier: BSD-3-Clause
"""Newton's method with an exact line search on smoothed hinge and tube losses.

A smoothed loss is straight but for its rounded part, so the problem is piecewise quadratic and
convex. Newton's step is right until a unit enters or leaves the rounded part of its loss; where
the slope at the end of a step tells that this mattered, the lowest place along the step is
searched by the slopes at a few places on it. Of few units the lines of residuals are kept, so that
a search costs one pass and is made before every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from bagshift.solvers._chunks import both
from bagshift.solvers._coordinates import Coordinates, LinearMachine
from bagshift.solvers._linear_passes import LinearPasses
from bagshift.solvers._sums import Sums, in_unknowns

Floats = NDArray[np.float64]
# Slopes by lengths along a step.
Line = Callable[[Floats], Floats]

# A step whose end is this steep, relative to its beginning, is searched for a better end.
_STEEP = 0.5
_LENGTHS = 2.0 ** np.arange(-10.0, 3.0)
# The search ends between places this flat.
_FLAT, _N_PLACES, _MOST_SEARCHES, _MOST_SECANTS = 0.1, 12, 6, 40
# Intercepts move no further in a step, in units of score.
_FARTHEST = 10.0
# Added to the diagonal of a curvature, which is one.
_RIDGE = 1e-14
# Decrease, relative to the objective, that rounding hides.
_ROUNDING = 1e-16


@dataclass(frozen=True, eq=False)
class SmoothedPoint:
    """The problem at one place.

    Attributes
    ----------
    v, gradient : ndarray of shape (size,)
        The unknowns, and the gradient of the smoothed problem.
    curvature : ndarray of shape (size, size)
    value : float
        Of the exact problem.
    gap : float
        Part of the duality gap that smoothing leaves.
    slack : float
        Part of it that a gradient that is not zero leaves: a bound where the intercepts are within
        the smoothing (without free units, a unit of score) of where they belong, else an estimate.
    n_free : int
        Units in the rounded part of their loss.
    """

    v: Floats
    gradient: Floats
    curvature: Floats
    value: float
    gap: float
    slack: float
    n_free: int


@dataclass(frozen=True, eq=False)
class Part:
    """Units of one machine, and what others that have settled on a side add to the slope.

    Attributes
    ----------
    passes : LinearPasses or None
        None for no units.
    settled : ndarray of shape (n_features + 1,)
    """

    passes: LinearPasses | None
    settled: Floats

    @property
    def waits(self) -> bool:
        return self.passes is not None and self.passes.waits

    def sums(self, machine: LinearMachine, smoothing: float) -> Sums:
        settled = Sums(0.0, 0.0, self.settled)
        if self.passes is None:
            return settled
        return self.passes.sums(machine, smoothing) + settled

    def anchored(self, machine: LinearMachine, smoothing: float) -> Part:
        """Return the part with the dual variables at a machine as anchors of the next ones."""
        if self.passes is None:
            return self
        passes = self.passes.gathered()
        anchors = passes.units.duals(passes.units.residuals(machine), smoothing)
        units = replace(passes.units, anchors=anchors)
        return replace(self, passes=replace(passes, units=units))

    def line(self, machine: LinearMachine, direction: LinearMachine, smoothing: float) -> Line:
        straight = self.settled[:-1] @ direction.weights + self.settled[-1] * direction.intercept
        if self.passes is None:
            return lambda lengths: np.full(len(lengths), straight)
        slopes = self.passes.line(machine, direction, smoothing)
        return lambda lengths: np.asarray(straight + slopes(lengths))


@dataclass(frozen=True, eq=False)
class SmoothedProblem:
    """The smoothed problem, multiplied by the square of the length of a row.

    Attributes
    ----------
    source, target : Part
    coordinates : Coordinates
        What the unknowns mean, and the length of a row.
    smoothing : float
    """

    source: Part
    target: Part
    coordinates: Coordinates
    smoothing: float

    def at(self, v: Floats) -> SmoothedPoint:
        machines = self.coordinates.decode(v)
        source, target = both(
            lambda: self.source.sums(machines.source, self.smoothing),
            lambda: self.target.sums(machines.target, self.smoothing),
            together=self.source.waits and self.target.waits,
        )
        found = in_unknowns(self.coordinates, v, source, target)
        gradient, penalty = found.gradient, self.coordinates.penalty
        has_penalty = penalty > 0
        slack = 0.5 * float((gradient[has_penalty] ** 2 / penalty[has_penalty]).sum())
        n_free = source.n_free + target.n_free
        # An equality that the dual variables miss by a little is met by moving free ones, as far
        # as they have room, which are within the rounded part of their border; without any, by a
        # unit of score.
        slack += float(np.abs(gradient[~has_penalty]).sum()) * (self.smoothing if n_free else 1.0)
        return SmoothedPoint(
            v=v,
            gradient=gradient,
            curvature=found.curvature,
            value=found.value,
            gap=self.coordinates.row_length**2 * (source.gap + target.gap),
            slack=slack,
            n_free=n_free,
        )

    @property
    def holds_lines(self) -> bool:
        """Whether the slopes along a line take one pass, however many are asked for."""
        parts = (self.source.passes, self.target.passes)
        return all(passes is None or passes.holds_lines for passes in parts)

    def line(self, v: Floats, step: Floats) -> Line:
        """Return the slope along a step as a function of places on it."""
        machines, directions = self.coordinates.decode(v), self.coordinates.decode(step)
        source = self.source.line(machines.source, directions.source, self.smoothing)
        target = self.target.line(machines.target, directions.target, self.smoothing)
        penalty = self.coordinates.penalty
        unit = self.coordinates.row_length**2
        here, bend = float(step @ (penalty * v)), float(step @ (penalty * step))
        return lambda lengths: unit * (source(lengths) + target(lengths)) + here + lengths * bend


def minimise(
    objective: SmoothedProblem, v: Floats, *, worth: float, max_iter: int
) -> tuple[SmoothedPoint, int]:
    """Minimise a smoothed problem.

    Parameters
    ----------
    objective : SmoothedProblem
    v : ndarray of shape (size,)
        Where to begin.
    worth : float
        Stop when the gradient leaves no more than this part of the objective open.
    max_iter : int
        Limit on passes.

    Returns
    -------
    point : SmoothedPoint
    n_passes : int
    """
    point, n_passes = objective.at(v), 1
    while point.slack > worth * point.value and n_passes < max_iter:
        step = _newton_step(point, objective.coordinates.n_intercepts)
        promise = -float(point.gradient @ step)
        if not promise > _ROUNDING * point.value:
            break
        length = 1.0
        if objective.holds_lines:
            length = _lowest_of_held(objective.line(point.v, step), promise)
            n_passes += 1
        proposal = objective.at(point.v + length * step)
        n_passes += 1
        if not objective.holds_lines and _is_steep(proposal, step, promise):
            length, n_searched = _lowest(objective.line(point.v, step), promise)
            proposal = objective.at(point.v + length * step)
            n_passes += n_searched + 1
        point = proposal
    return point, n_passes


def _newton_step(point: SmoothedPoint, n_intercepts: int) -> Floats:
    """Return Newton's step, of which intercepts go a limited way: they may have no curvature."""
    bent = point.curvature.diagonal().copy()
    bent[-n_intercepts:] += np.abs(point.gradient[-n_intercepts:]) / _FARTHEST
    # In units in which every unknown has curvature one: of tiny features, what is added to the
    # weights would stop the intercepts.
    units = 1.0 / np.sqrt(np.where(bent > 0.0, bent, 1.0))
    curvature = units[:, None] * point.curvature * units
    np.fill_diagonal(curvature, units * bent * units + _RIDGE)
    step = solve(curvature, -units * point.gradient, assume_a="pos", check_finite=False)
    return np.asarray(units * step)


def _is_steep(end: SmoothedPoint, step: Floats, promise: float) -> bool:
    return abs(float(end.gradient @ step)) > _STEEP * promise


def _lowest(line: Line, promise: float) -> tuple[float, int]:
    """Return how far along a step the lowest place is, and how often its slopes were asked for.

    The slope grows along the step, from minus the promise on.
    """
    low, high = 0.0, float(_LENGTHS[-1])
    slope = -promise
    lengths = _LENGTHS
    for n_asked in range(1, _MOST_SEARCHES + 1):
        slopes = np.append(slope, line(lengths))
        lengths = np.append(low, lengths)
        after = int(np.searchsorted(slopes, 0.0))
        if after == len(slopes):
            return float(lengths[-1]), n_asked
        low, high = float(lengths[after - 1]), float(lengths[after])
        slope, end = float(slopes[after - 1]), float(slopes[after])
        if max(-slope, end) <= _FLAT * promise:
            break
        lengths = np.linspace(low, high, _N_PLACES + 1)[1:]
    return low + (high - low) * slope / (slope - end), n_asked


def _lowest_of_held(line: Line, promise: float) -> float:
    """Return how far along a step the lowest place is, where every slope is cheap.

    The Illinois variant of the secant rule between two places of opposite slopes.
    """

    def slope(length: float) -> float:
        return float(line(np.array([length]))[0])

    low, high = 0.0, 1.0
    at_low, at_high = -promise, slope(1.0)
    while at_high < -_FLAT * promise and high < _LENGTHS[-1]:
        low, at_low = high, at_high
        high *= 2.0
        at_high = slope(high)
    if at_high <= _FLAT * promise:
        return high
    for _ in range(_MOST_SECANTS):
        between = high - at_high * (high - low) / (at_high - at_low)
        at_between = slope(between)
        if abs(at_between) <= _FLAT * promise:
            return between
        # The end that stays is taken to be less steep than it is, so that it moves in its turn.
        if at_between > 0.0:
            high, at_high, at_low = between, at_between, 0.5 * at_low
        else:
            low, at_low, at_high = between, at_between, 0.5 * at_high
    return low
