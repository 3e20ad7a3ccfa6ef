# SPDX-License-Identifier: BSD-3-Clause
"""One support vector machine trained again and again, as labels and costs of its rows change.

A machine that guesses labels trains hundreds of times on the same kernel matrix, each time with a
few labels changed or with costs a little higher. Begun from the last solution, the solver has
little left to do: rows with the same label keep their dual variable, in proportion to their cost;
a row with another one starts at the bound that its score calls for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._coupled import coupled_problem, hinge_loss
from bagshift.estimators.tgplm_plus import products
from bagshift.kernels import free_memory
from bagshift.solvers import CoupledProblem, CoupledResult, solve_coupled
from bagshift.solvers.polish import polish

Floats = NDArray[np.float64]

# Copies up to this size are made without asking whether there is memory.
_SMALL = 2**24
# Kernel values beyond this, or all below its inverse, are left in double precision.
_WIDEST = 1e15


@dataclass(frozen=True, eq=False)
class TrainedMachine:
    """A support vector machine and what it was trained on.

    Attributes
    ----------
    signs : ndarray of shape (n_units,)
        Labels, -1 or +1.
    costs : ndarray of shape (n_units,)
        Cost of a unit of slack of every row.
    result : CoupledResult
        The solution.
    gram : ndarray of shape (n_units, n_units)
        Kernel matrix.
    """

    signs: Floats
    costs: Floats
    result: CoupledResult
    gram: NDArray[Any]

    @cached_property
    def scores(self) -> Floats:
        """Scores of the rows; shape (n_units,)."""
        return self.scores_of(self.gram)

    def scores_of(self, rows: NDArray[Any]) -> Floats:
        """Return the scores of rows, given by their kernel values with the units."""
        return products(rows, self.result.dual) + self.result.intercept_target

    def dual_for(self, signs: Floats, costs: Floats) -> Floats:
        """Return dual variables to begin from when labels and costs are others."""
        is_kept = (signs == self.signs) & (self.costs > 0)
        ratio = np.divide(costs, self.costs, out=np.zeros_like(costs), where=is_kept)
        within_margin = signs * self.scores < 1.0
        return np.where(is_kept, ratio * self.result.dual, costs * signs * within_margin)


class Trainer:
    """Trains machines on one kernel matrix, and counts what the solver does.

    Parameters
    ----------
    gram : ndarray of shape (n_units, n_units)
        Kernel matrix.
    tol : float
        Tolerance of the solver.
    max_iter : int
        Limit on its iterations in one training; -1 is none.
    rough : ndarray of shape (n_units, n_units), optional
        The same in single precision, for all trainings that need not be exact: in a large
        problem a training begun near its end takes the time that it takes to read the matrix.

    Attributes
    ----------
    n_iter : int
        Iterations of the solver so far.
    """

    def __init__(
        self,
        gram: NDArray[Any],
        *,
        tol: float,
        max_iter: int,
        rough: NDArray[Any] | None = None,
    ) -> None:
        self.n_iter = 0
        self._tol = tol
        self._max_iter = max_iter
        self._exact = gram
        self._rough = gram if rough is None else rough
        self._problem: CoupledProblem | None = None

    def train(
        self,
        signs: Floats,
        costs: Floats,
        *,
        after: TrainedMachine | None = None,
        exactly: bool = False,
    ) -> TrainedMachine:
        """Train a machine.

        Parameters
        ----------
        signs, costs : ndarray of shape (n_units,)
            Labels, -1 or +1, and costs of a unit of slack.
        after : TrainedMachine, optional
            A machine with similar ones, to begin from.
        exactly : bool, default=False
            Whether to remove what the solver's tolerance leaves to chance.

        Returns
        -------
        TrainedMachine
        """
        gram = self._exact if exactly else self._rough
        problem = self._problem_on(gram, signs, costs)
        start = None if after is None else after.dual_for(signs, costs)
        result = solve_coupled(problem, tol=self._tol, max_iter=self._max_iter, start=start)
        if exactly:
            result = polish(problem, result)
        self.n_iter += result.n_iter
        return TrainedMachine(signs, costs, result, gram)

    def _problem_on(self, gram: NDArray[Any], signs: Floats, costs: Floats) -> CoupledProblem:
        """Return the dual problem; those on one matrix share one look through it."""
        loss = hinge_loss(signs, costs)
        if self._problem is None or self._problem.gram is not gram:
            nothing = hinge_loss(np.empty(0), np.empty(0))
            self._problem = coupled_problem(gram, nothing, [loss], coupling=0.0)
            return self._problem
        return replace(self._problem, targets=loss.targets, lower=loss.lower, upper=loss.upper)


def rough_copy(gram: NDArray[Any]) -> NDArray[Any]:
    """Return a kernel matrix in single precision; as it is, where memory or its range is short.

    Parameters
    ----------
    gram : ndarray of shape (n_units, n_units)

    Returns
    -------
    ndarray of shape (n_units, n_units)
    """
    n_bytes = gram.size * np.dtype(np.float32).itemsize
    if gram.dtype == np.float32 or (n_bytes > _SMALL and n_bytes > (free_memory() or 0)):
        return gram
    # The largest entry is on the diagonal; squares of it are summed up.
    if not 1.0 / _WIDEST < np.abs(np.diagonal(gram)).max(initial=0.0) < _WIDEST:
        return gram
    return gram.astype(np.float32)
