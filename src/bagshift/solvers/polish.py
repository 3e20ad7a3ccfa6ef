# SPDX-License-Identifier: BSD-3-Clause
r"""Sharpen a solution of the coupled quadratic program from its tolerance to rounding.

At the solution the free variables :math:`F` (strictly inside their boxes and off the kink at 0)
solve a linear system: with :math:`g = Qz - t`,

.. math::

    \begin{bmatrix} Q_{FF} & E_F^\top \\ E_F & 0 \end{bmatrix}
    \begin{bmatrix} \Delta_F \\ \nu \end{bmatrix}
    = \begin{bmatrix} -(g_F + \varepsilon_F \operatorname{sign} z_F) \\ 0 \end{bmatrix},

where :math:`E` is the row of ones of the equality constraint. The rank-one term of :math:`Q` is
kept out of it: with :math:`e_s` the indicator of source units, :math:`\mu = \sum_{i \in s}
(z_i + \Delta_i) / \lambda` is one more unknown and :math:`e_s^\top \Delta - \lambda \mu =
-\sum_{i \in s} z_i` one more row, which stays well conditioned down to :math:`\lambda = 0`, where
it is the second equality of two separate machines.

Sequential minimal optimisation finds :math:`F` quickly and then creeps; Newton steps, cut at the
first bound, end the creeping. The solver takes such steps itself when it goes on from a solution,
and mostly needs no others; it has none where the system is singular, which the steps here solve by
least squares. A polished result no longer depends on the order of rows or on whether a row is
repeated or weighted.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import norm  # unlike NumPy's, of numbers whose squares overflow too

from bagshift.solvers.coupled_qp import (
    CoupledProblem,
    CoupledResult,
    coupling_weights,
    solve_coupled,
)

__all__ = ["polish", "solve_sharply"]

Array = NDArray[np.float64]

_SHARP = 1e-9
_ROUNDS = 9
_ALWAYS_WORTH_IT = 100
_FLOPS_OF_LEAST_SQUARES = 25.0
_FLOPS_PER_ITERATION_AND_UNIT = 10.0
_RANK_TOLERANCE = 1e-12
_UNREACHED = 1e-6

# Of a small program, before it is taken to be a hard one.
_ITERATIONS_PER_UNIT = 10


def solve_sharply(
    problem: CoupledProblem, *, tol: float, max_iter: int = -1, start: ArrayLike | None = None
) -> CoupledResult:
    """Solve a program and polish the solution.

    A small program is solved to the tolerance of polished solutions at once, where that does not
    take long: the calls would take longer.

    Parameters
    ----------
    problem : CoupledProblem
        The program.
    tol, max_iter, start
        As in :func:`bagshift.solvers.solve_coupled`.

    Returns
    -------
    CoupledResult
        What `polish` makes of the solution to `tol`.
    """
    n_units = problem.targets.size
    if n_units <= _ALWAYS_WORTH_IT and tol >= _SHARP:
        few = _ITERATIONS_PER_UNIT * n_units
        limit = few if max_iter < 0 else min(few, max_iter)
        sharp = solve_coupled(problem, tol=_SHARP, max_iter=limit, start=start)
        if sharp.converged:
            return replace(sharp, gap_bound=sharp.gap_bound * (tol / _SHARP))
        rest = max_iter if max_iter < 0 else max_iter - sharp.n_iter
        result = solve_coupled(problem, tol=tol, max_iter=rest, start=sharp.dual)
        return polish(problem, replace(result, n_iter=result.n_iter + sharp.n_iter))
    return polish(problem, solve_coupled(problem, tol=tol, max_iter=max_iter, start=start))


def polish(
    problem: CoupledProblem, result: CoupledResult, *, tol: float = _SHARP
) -> CoupledResult:
    """Return a solution at least as close to the optimum as the one given.

    Short runs of the solver alternate with Newton steps from where they lead. Left alone are
    results that did not converge, and those with so many free variables that a step would cost
    more than the solver has spent.

    Parameters
    ----------
    problem : CoupledProblem
        The program.
    result : CoupledResult
        Its solution to some tolerance.
    tol : float, default=1e-9
        Stop when the violation of optimality is below this many units of score.

    Returns
    -------
    CoupledResult
        With ``n_iter`` counted from the first iteration of the given result.
    """
    if not result.converged:
        return result
    best = latest = result
    n_iter = result.n_iter
    burst = max(len(result.dual), n_iter // 2)
    for done in range(_ROUNDS):
        if latest.kkt_gap < tol or not _worth_it(problem, latest.dual, n_iter):
            break
        start = _newton(problem, latest.dual) if done else latest.dual
        latest = solve_coupled(problem, tol=tol, max_iter=burst, start=start)
        n_iter += latest.n_iter
        # The dual value only rises; the gap may widen on the way to a better set of free ones.
        if latest.dual_gap < best.dual_gap:
            best = latest
    if best is result or best.kkt_gap > result.kkt_gap:
        return result
    return _as_converged(best, result, n_iter)


def _as_converged(best: CoupledResult, result: CoupledResult, n_iter: int) -> CoupledResult:
    """Judge the sharper solution by the tolerance that was asked for."""
    values = {**vars(best), "n_iter": n_iter, "gap_bound": result.gap_bound}
    return CoupledResult(**{**values, "converged": True, "status": result.status})


def _worth_it(problem: CoupledProblem, dual: Array, n_iter: int) -> bool:
    if len(dual) <= _ALWAYS_WORTH_IT:
        return True
    n_free = len(_free(problem, dual))
    spent = _FLOPS_PER_ITERATION_AND_UNIT * n_iter * len(dual)
    return n_free <= _ALWAYS_WORTH_IT or _FLOPS_OF_LEAST_SQUARES * n_free**3 <= spent


def _free(problem: CoupledProblem, dual: Array) -> NDArray[np.intp]:
    inside = (dual > problem.lower) & (dual < problem.upper)
    at_kink = (problem.half_widths > 0) & (dual == 0)
    return np.flatnonzero(inside & ~at_kink)


def _newton(problem: CoupledProblem, dual: Array) -> Array:
    """Walk along Newton steps on the free variables, leaving those that meet a bound behind."""
    dual, free = dual.copy(), _free(problem, dual)
    while len(free) > 1:
        step, wanted_length = _newton_step(problem, dual, free)
        length, blocked = _longest_step(problem, dual, free, step, wanted_length)
        dual[free] += length * step
        if blocked is None:
            break
        dual[free[blocked]] = _nearest_stop(problem, dual, free[blocked])
        free = np.delete(free, blocked)
    return dual


def _newton_step(
    problem: CoupledProblem, dual: Array, free: NDArray[np.intp]
) -> tuple[Array, float]:
    """Return a direction of descent and how far along it the minimum lies."""
    used = np.flatnonzero(dual)
    slope = (
        _quadratic(problem, free, used) @ dual[used]
        - problem.targets[free]
        + problem.half_widths[free] * np.sign(dual[free])
    )
    border, corner, residue = _border(problem, dual, free)
    n_free, n_border = len(free), len(border)
    system = np.zeros((n_free + n_border, n_free + n_border))
    system[:n_free, :n_free] = _quadratic(problem, free, free)
    system[:n_free, n_free:] = border.T
    system[n_free:, :n_free] = border
    system[n_free:, n_free:] = np.diag(corner)
    wanted = np.concatenate([-slope, residue])
    # Duplicates make the system singular; the shortest solution moves them together.
    step = np.linalg.lstsq(system, wanted, rcond=_RANK_TOLERANCE)[0]
    rest = wanted - system @ step
    if norm(rest, check_finite=False) > _UNREACHED * norm(wanted, check_finite=False):
        # What the system cannot reach is a direction of descent without curvature.
        return rest[:n_free], np.inf
    return step[:n_free], 1.0


def _quadratic(
    problem: CoupledProblem, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> Array:
    """Return a block of Q without its rank-one term, in double precision."""
    block = problem.gram[np.ix_(rows, columns)].astype(np.float64)
    if not problem.has_two_machines:
        return block
    same = (rows < problem.n_source)[:, None] == (columns < problem.n_source)[None, :]
    within, across = coupling_weights(0.0 if problem.is_apart else problem.coupling)
    block *= np.where(same, within, across)
    return block


def _border(
    problem: CoupledProblem, dual: Array, free: NDArray[np.intp]
) -> tuple[Array, Array, Array]:
    """Return the border of the linear system: rows, diagonal corner and right-hand side."""
    everything = np.ones(len(free))
    if not problem.has_two_machines or np.isinf(problem.coupling):
        return everything[None, :], np.zeros(1), np.zeros(1)
    source = (free < problem.n_source).astype(np.float64)
    source_sum = float(dual[: problem.n_source].sum())
    coupling = 0.0 if problem.is_apart else problem.coupling
    return (
        np.stack([everything, source]),
        np.array([0.0, -coupling]),
        np.array([0.0, -source_sum]),
    )


def _longest_step(
    problem: CoupledProblem, dual: Array, free: NDArray[np.intp], step: Array, wanted: float
) -> tuple[float, int | None]:
    """Return how much of the step is allowed, and which variable ends it."""
    low, high = _stops(problem, dual[free], free)
    room = np.where(step > 0, high, low) - dual[free]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(step != 0, room / step, np.inf)
    first = int(np.argmin(reach))
    if not reach[first] < wanted:
        return (wanted, None) if np.isfinite(wanted) else (0.0, None)
    return max(float(reach[first]), 0.0), first


def _stops(problem: CoupledProblem, values: Array, free: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return the bounds of the piece of the objective that each variable is on."""
    low, high = problem.lower[free], problem.upper[free]
    has_kink = problem.half_widths[free] > 0
    low = np.where(has_kink & (values > 0), 0.0, low)
    high = np.where(has_kink & (values < 0), 0.0, high)
    return low, high


def _nearest_stop(problem: CoupledProblem, dual: Array, unit: np.intp) -> float:
    value = dual[unit]
    stops = [problem.lower[unit], problem.upper[unit]]
    if problem.half_widths[unit] > 0:
        stops.append(0.0)
    return float(min(stops, key=lambda stop: abs(stop - value)))
