# SPDX-License-Identifier: BSD-3-Clause
"""Many coupled programs on one Gram matrix, each solved from an earlier one.

A search over parameters solves thousands of programs that differ in the costs of their units and
in the coupling alone (:mod:`bagshift.solvers.coupled_qp`). From one coupling to the next the last
dual variables stay feasible; from costs to twice these costs, so do twice the variables, and those
at a bound stay at one. Ordered like this, most programs need a step or two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift import _core
from bagshift.solvers.coupled_qp import (
    NEGLIGIBLE_COUPLING,
    CoupledProblem,
    iteration_limit,
)

__all__ = ["CoupledChain", "solve_coupled_chain"]

Floats = NDArray[np.float64]

_NO_START = -1


@dataclass(frozen=True, eq=False)
class CoupledChain:
    """Solutions of a chain of programs, q settings on m units.

    Attributes
    ----------
    dual : ndarray of shape (q, m)
        Signed dual variables.
    within, across : ndarray of shape (q,)
        Their weights in the machine of their own domain and in the other one; see
        :func:`~bagshift.solvers.coupling_weights`.
    n_source : int
        Units of the source domain, which come first.
    intercept_target, intercept_source : ndarray of shape (q,)
        Intercepts; see :class:`~bagshift.solvers.CoupledResult`.
    objective, dual_objective, dual_gap, kkt_gap : ndarray of shape (q,)
        The certificate of every solution, as in :class:`~bagshift.solvers.CoupledResult`.
    n_iter : ndarray of shape (q,)
        Pairs of variables moved.
    converged : ndarray of shape (q,), bool
        Whether the tolerance was reached.
    """

    dual: Floats
    within: Floats
    across: Floats
    n_source: int
    intercept_target: Floats
    intercept_source: Floats
    objective: Floats
    dual_objective: Floats
    dual_gap: Floats
    kkt_gap: Floats
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]

    @property
    def target_coefficients(self) -> Floats:
        """Weights of the units in the target machines, shape (q, m)."""
        coefficients = self.dual * self.within[:, np.newaxis]
        on_source = self.dual[:, : self.n_source] * self.across[:, np.newaxis]
        coefficients[:, : self.n_source] = on_source
        return coefficients

    def scores(self, kernel: NDArray[Any]) -> Floats:
        """Return what the target machines say of rows.

        Parameters
        ----------
        kernel : ndarray of shape (n_rows, m)
            Kernel of the rows with the units.

        Returns
        -------
        ndarray of shape (n_rows, q)
            Decision values.
        """
        by_source, by_target = self._sums(kernel)
        return self.across * by_source + self.within * by_target + self.intercept_target

    def source_scores(self, kernel: NDArray[Any]) -> Floats:
        """Return what the source machines say of rows.

        Parameters
        ----------
        kernel : ndarray of shape (n_rows, m)
            Kernel of the rows with the units.

        Returns
        -------
        ndarray of shape (n_rows, q)
            Decision values.
        """
        by_source, by_target = self._sums(kernel)
        return self.within * by_source + self.across * by_target + self.intercept_source

    def _sums(self, kernel: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the kernel weighted by the dual variables of either domain."""
        n = self.n_source
        return kernel[:, :n] @ self.dual[:, :n].T, kernel[:, n:] @ self.dual[:, n:].T


def solve_coupled_chain(
    problem: CoupledProblem,
    source_costs: ArrayLike,
    target_costs: ArrayLike,
    couplings: ArrayLike,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
) -> CoupledChain:
    """Solve coupled programs that differ in costs and coupling, one after the other.

    The interpreter lock is released while solving, and Ctrl-C is heard.

    Parameters
    ----------
    problem : CoupledProblem
        The program at unit costs; its coupling plays no part.
    source_costs, target_costs : array-like of shape (q,)
        Factors on the boxes of the source units and of the others. Settings next to each other
        are best alike: see the module.
    couplings : array-like of shape (q,)
        λ of every setting, from 0 to ``inf``. Plays no part when there is one machine.
    tol : float, default=1e-3
        Largest violation of the optimality conditions to accept, in score units.
    max_iter : int, default=-1
        Largest number of iterations in each; -1 as in :func:`~bagshift.solvers.solve_coupled`.

    Returns
    -------
    CoupledChain

    Raises
    ------
    ValueError
        When lengths differ, a cost is negative or not finite, or `tol` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift.solvers import CoupledProblem, solve_coupled_chain
    >>> positions = np.array([-1.0, 1.0])
    >>> problem = CoupledProblem(
    ...     gram=np.outer(positions, positions),
    ...     n_source=0,
    ...     targets=np.array([-1.0, 1.0]),
    ...     half_widths=np.zeros(2),
    ...     lower=np.array([-1.0, 0.0]),
    ...     upper=np.array([0.0, 1.0]),
    ...     coupling=0.0,
    ... )
    >>> chain = solve_coupled_chain(problem, [0.0, 0.0], [0.25, 1.0], [0.0, 0.0])
    >>> chain.dual
    array([[-0.25,  0.25],
           [-0.5 ,  0.5 ]])
    """
    if not 0 < tol < math.inf:
        raise ValueError(f"tol must be a positive number: {tol}.")
    source, target = _costs(source_costs), _costs(target_costs)
    strengths = np.asarray(couplings, dtype=np.float64)
    if not source.shape == target.shape == strengths.shape:
        raise ValueError("source_costs, target_costs and couplings must be of the same length.")
    if not np.all(strengths >= 0):
        raise ValueError("couplings must be numbers from 0 to inf.")
    n_source = problem.n_source if problem.has_two_machines else 0
    if not n_source:
        strengths = np.zeros_like(strengths)
    if problem.n_source and not n_source:
        target = source  # the one machine is the source's
    strengths = np.where(strengths < NEGLIGIBLE_COUPLING, 0.0, strengths)
    is_coupled = strengths > 0
    inverse = np.divide(1.0, strengths, out=np.zeros_like(strengths), where=is_coupled)
    across = np.where(is_coupled, 1.0 / (2.0 + inverse), 0.0)
    within = 1.0 - across
    m = problem.targets.size
    duals, summaries = np.zeros((len(source), m)), np.zeros((len(source), 8))
    _core.solve_chain(
        gram=problem.gram,
        n_source=n_source,
        targets=problem.targets,
        half_widths=problem.half_widths,
        lower=problem.lower,
        upper=problem.upper,
        source_costs=source,
        target_costs=target,
        within=within,
        across=across,
        inverse_couplings=inverse,
        starts=_starts(source if n_source else target, target),
        tol=tol,
        max_iter=iteration_limit(max_iter, m),
        duals=duals,
        summaries=summaries,
    )
    return CoupledChain(
        dual=duals,
        within=within,
        across=across,
        n_source=problem.n_source,
        intercept_target=summaries[:, 0],
        intercept_source=summaries[:, 1],
        objective=summaries[:, 2],
        dual_objective=summaries[:, 3],
        dual_gap=summaries[:, 4],
        kkt_gap=summaries[:, 5],
        n_iter=summaries[:, 6].astype(np.int64),
        converged=summaries[:, 7] > 0,
    )


def _costs(values: ArrayLike) -> Floats:
    costs = np.ascontiguousarray(values, dtype=np.float64)
    if costs.ndim != 1 or not np.all(np.isfinite(costs)) or np.any(costs < 0):
        raise ValueError("costs must be a list of finite numbers, none of them negative.")
    return costs


def _starts(source: Floats, target: Floats) -> NDArray[np.int64]:
    """Return which earlier setting each one starts from.

    With the same costs as the one before, that; else the first with the last costs that were in
    the same ratio.
    """
    n = len(source)
    starts = np.arange(n) - 1
    costs = np.column_stack([source, target])
    is_first = np.ones(n, dtype=bool)
    is_first[1:] = np.any(costs[1:] != costs[:-1], axis=1)
    first_of_ratio: dict[str, int] = {}
    for s in np.flatnonzero(is_first).tolist():
        # To twelve digits, as costs that are powers of something have rounding in their last ones.
        ratio = f"{source[s] / target[s]:.11e}" if target[s] > 0 else f"{source[s] > 0}"
        starts[s] = first_of_ratio.get(ratio, _NO_START)
        first_of_ratio[ratio] = s
    return starts
