# SPDX-License-Identifier: BSD-3-Clause
r"""Where the count-likelihood machine starts, and which of several ends is taken.

The likelihood of counts is not convex. Two machines that need no start are near good minima:

* the *source machine*, logistic regression on the labelled history;
* *inverse calibration* with squared loss: the mean score of a bag is regressed on the logit of
  its share [1]_. The logit of the share of m rows has a variance of about 1 / (m p (1 - p)), and
  a score one of C_target times the squared length of the features, which gives the ridge.

With many small bags the second mostly ends lower. With few large bags both reach nearly the same
likelihood and the source machine tends to generalise better, so where the two ends differ they
are compared on bags that were held out, not by the objective. Without a source there is no such
anchor: shares near one half fit a machine and its mirror image nearly alike, so the mirrored
start is tried as well.

References
----------
.. [1] S. Rueping, SVM classifier estimation from group probabilities, ICML 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise, starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from bagshift.estimators._count_units import CountUnits
from bagshift.exceptions import ReversedScoresWarning, plural, warn_caller
from bagshift.solvers._chunks import CHUNK_ROWS
from bagshift.solvers._row_products import stack
from bagshift.solvers.count_likelihood import BagCounts, count_posterior
from bagshift.solvers.count_rows import CountedRows
from bagshift.solvers.coupled_logistic import (
    CoupledLogisticProblem,
    CoupledLogisticResult,
    Machines,
    solve_coupled_logistic,
)

Floats = NDArray[np.float64]
# From a problem, where to begin and the least tolerance to the solution.
Solve = Callable[[CoupledLogisticProblem, Machines, float], CoupledLogisticResult]

N_FOLDS = 5
_POWER_STEPS = 30
_ROUNDING = 1e-10
# Shares that differ by less are equal.
_EQUAL = 1e-6
# Ends are compared on solutions that need not be exact, and are one end where their objectives
# and their directions agree as far as such solutions can.
_COMPARED_TOL = 1e-2
_SAME_OBJECTIVE = 1e-3
_SAME_DIRECTION = 0.99
# Scores that differ by less do not tell the classes apart.
_FLAT = 1e-3
# A mirror image that is less likely by so many nats is no rival.
_HOPELESS = 20.0
# Held-out log-likelihoods that agree in so many digits after the point do so up to rounding.
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class End:
    """A solution, where it came from, and how it did on held-out bags.

    Attributes
    ----------
    start : str
        Name of its start.
    result : CoupledLogisticResult
    is_clear : bool
        Whether held-out bags prefer it to every other end by more than one standard error.
    """

    start: str
    result: CoupledLogisticResult
    is_clear: bool = True


def starts_of(
    machine: Any, problem: CoupledLogisticProblem, units: CountUnits
) -> dict[str, Machines]:
    """Return the starts of a fit by name; the one to be trusted without a comparison first.

    Parameters
    ----------
    machine : CountLikelihoodClassifier
        Gives ``start``, costs and limits.
    problem : CoupledLogisticProblem
    units : CountUnits

    Returns
    -------
    dict of str to Machines
    """
    if units.is_labelled:
        return {"zero": Machines.both(np.zeros(problem.n_features), 0.0)}
    starts = {}
    has_source = problem.n_source > 0 and machine.C_source > 0
    if has_source and machine.start != "inverse_calibration":
        starts["source"] = source_start(
            problem.source_features,
            problem.source_signs,
            problem.source_costs,
            tol=machine.tol,
            max_iter=machine.max_iter,
        )
    if machine.start != "source" or not starts:
        starts["inverse_calibration"] = inverse_calibration_start(
            problem.target_features, units.counts, units.shares, problem.bag_costs
        )
    if not has_source and _is_flat(starts["inverse_calibration"], problem):
        starts["inverse_calibration"] = within_bags_start(
            problem.target_features, units.counts, units.shares
        )
    if machine.start == "auto" and not has_source:
        starts["mirrored"] = starts["inverse_calibration"].mirrored()
    return starts


def warn_about(end: End, *, has_source: bool) -> None:
    """Warn of what is not to be relied upon.

    Parameters
    ----------
    end : End
    has_source : bool

    Warns
    -----
    ConvergenceWarning
    ReversedScoresWarning
    """
    if not end.result.converged:
        warn_caller(
            f"The optimiser stopped after {plural(end.result.n_iter, 'step')} with a gradient of "
            f"norm {end.result.gradient_norm:.3g}; scale the features, lower the costs, or set a "
            "higher max_iter.",
            ConvergenceWarning,
        )
    if not end.is_clear and not has_source:
        warn_caller(
            "The shares fit this machine and its mirror image about equally well, so which "
            "class is which may be the wrong way round: give labelled history as source=, "
            "some labelled rows, or bags whose shares differ more.",
            ReversedScoresWarning,
        )


def source_start(
    features: Any, signs: Floats, costs: Floats, *, tol: float, max_iter: int
) -> Machines:
    """Return logistic regression on the source, as the start of both machines.

    Parameters
    ----------
    features : matrix of shape (n_source, n_features)
    signs, costs : ndarray of shape (n_source,)
    tol : float
    max_iter : int

    Returns
    -------
    Machines
    """
    problem = CoupledLogisticProblem(
        source_features=None,
        source_signs=np.empty(0),
        source_costs=np.empty(0),
        target_features=features,
        counts=BagCounts.exact((signs > 0).astype(np.int64), np.ones(len(signs), dtype=np.int64)),
        bag_costs=costs,
        coupling=0.0,
    )
    found = solve_coupled_logistic(problem, tol=tol, max_iter=max_iter).machines
    return Machines.both(found.target_weights, found.target_intercept)


def inverse_calibration_start(
    features: Any, counts: BagCounts, shares: Floats, costs: Floats
) -> Machines:
    """Return ridge regression of the logits of shares on bag means, as the start of both.

    Parameters
    ----------
    features : matrix of shape (n_rows, n_features)
        Rows bag by bag.
    counts : BagCounts
        Gives the bags.
    shares : ndarray of shape (n_bags,)
        Shares of positives in [0, 1]; kept half a row from 0 and 1.
    costs : ndarray of shape (n_bags,)
        C_target times the weight of each bag.

    Returns
    -------
    Machines
    """
    sizes = counts.sizes
    clipped = np.clip(shares, 0.5 / (sizes + 1), 1.0 - 0.5 / (sizes + 1))
    if np.ptp(clipped) <= _EQUAL or not costs.any():
        level = float(np.average(clipped, weights=sizes))
        return Machines.both(np.zeros(features.shape[1]), float(logit(level)))
    precision = costs * sizes * clipped * (1.0 - clipped)
    solver = "sparse_cg" if sparse.issparse(features) else "auto"
    ridge = Ridge(alpha=1.0, solver=solver, max_iter=200)
    ridge.fit(_bag_means(features, counts), logit(clipped), sample_weight=precision)
    return Machines.both(np.asarray(ridge.coef_, dtype=np.float64), float(ridge.intercept_))


def within_bags_start(features: Any, counts: BagCounts, shares: Floats) -> Machines:
    """Return the axis along which rows differ most from the others of their bag.

    Equal shares say nothing about weights, and at zero weights the gradient is zero. It is no
    minimum: the likelihood rises in every direction in which rows of a bag differ, in this one
    most. Which end of the axis is positive is not known.

    Parameters
    ----------
    features : matrix of shape (n_rows, n_features)
        Rows bag by bag.
    counts : BagCounts
        Gives the bags.
    shares : ndarray of shape (n_bags,)
        Shares of positives in [0, 1].

    Returns
    -------
    Machines
        Scores have a variance of one within bags.
    """
    sizes, average = counts.sizes, _averages(counts)
    level = float(logit(np.clip(np.average(shares, weights=sizes), 1e-3, 1.0 - 1e-3)))
    axis = np.ones(features.shape[1])
    for _ in range(_POWER_STEPS):
        raw = features @ axis
        scores = raw - np.repeat(average @ raw, sizes)
        length = float(np.linalg.norm(scores)) / np.sqrt(counts.n_rows)
        if length <= _ROUNDING * np.abs(raw).max():
            return Machines.both(np.zeros(features.shape[1]), level)
        weights = axis / length
        axis = features.T @ scores
        axis /= np.linalg.norm(axis)
    middle = float(np.mean(features @ weights))
    return Machines.both(weights, level - middle)


def _is_flat(start: Machines, problem: CoupledLogisticProblem) -> bool:
    """Tell whether all rows have one score, or nearly so."""
    return bool(np.ptp(problem.target_features @ start.target_weights) < _FLAT)


def _bag_means(features: Any, counts: BagCounts) -> Any:
    """Return the mean row of every bag, in double precision, of which rows get no copy."""
    rows = CountedRows(features, counts, np.ones(counts.n_bags))
    parts = starmap(rows.between, pairwise(rows.borders(CHUNK_ROWS).tolist()))
    return stack([_averages(part.counts) @ part.features for part in parts])


def _averages(counts: BagCounts) -> sparse.csr_matrix:
    """Return the matrix that takes rows to the means of bags."""
    sizes = counts.sizes
    bags = np.repeat(np.arange(counts.n_bags), sizes)
    return sparse.csr_matrix(
        (np.repeat(1.0 / sizes, sizes), (bags, np.arange(counts.n_rows))),
        shape=(counts.n_bags, counts.n_rows),
    )


def best_end(problem: CoupledLogisticProblem, starts: dict[str, Machines], solve: Solve) -> End:
    """Solve from every start and return the end that held-out bags prefer.

    Parameters
    ----------
    problem : CoupledLogisticProblem
    starts : dict of str to Machines
        The first is taken where there is nothing to compare by.
    solve : callable
        From a problem, a start and a tolerance, which it may tighten, to a result.

    Returns
    -------
    End

    Notes
    -----
    Ends are compared by five folds of whole bags. Training without a fold goes on from the end
    that all bags led to: what is compared are basins, and each is entered where it is lowest.
    """
    if len(starts) == 1:
        name, start = next(iter(starts.items()))
        return End(name, solve(problem, start, 0.0))
    ends: list[End] = []
    for name, start in starts.items():
        end = End(name, solve(problem, start, _COMPARED_TOL))
        if not any(_is_same(end, other) for other in ends):
            ends.append(end)
    best = _best_of([end for end in ends if not _is_hopeless(end, ends, problem)], problem, solve)
    if not best.result.converged:
        return best
    exact = solve(problem, best.result.machines, 0.0)
    return replace(best, result=replace(exact, n_iter=best.result.n_iter + exact.n_iter))


def _best_of(ends: list[End], problem: CoupledLogisticProblem, solve: Solve) -> End:
    """Return the end that held-out bags prefer; the first where nothing can be held out."""
    if len(ends) == 1 or problem.counts.n_bags < 2:
        return replace(ends[0], is_clear=len(ends) == 1)
    fold = _deal(problem, ends[0].result.machines)
    held_out = np.array([_held_out(problem, end.result.machines, fold, solve) for end in ends])
    best = int(held_out.mean(axis=1).round(_DIGITS).argmax())
    gaps = held_out[best] - np.delete(held_out, best, axis=0)
    errors = gaps.std(axis=1) / np.sqrt(gaps.shape[1])
    is_clear = np.all(gaps.mean(axis=1) > np.maximum(errors, 0.1**_DIGITS))
    return replace(ends[best], is_clear=bool(is_clear))


def _is_same(end: End, other: End) -> bool:
    """Tell whether two ends are one; mirror images of each other are not."""
    one, two = end.result, other.result
    distance = abs(one.objective - two.objective)
    first, second = one.machines.target_weights, two.machines.target_weights
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    agree = float(first @ second) >= _SAME_DIRECTION * lengths
    return agree and distance <= _SAME_OBJECTIVE * abs(two.objective)


def _is_hopeless(end: End, ends: list[End], problem: CoupledLogisticProblem) -> bool:
    """Tell whether a mirror image lies too far above the lowest end to be compared."""
    lowest = min(other.result.objective for other in ends)
    lead = float(np.mean(problem.bag_costs)) * _HOPELESS
    return end.start == "mirrored" and end.result.objective > lowest + lead


def _deal(problem: CoupledLogisticProblem, machines: Machines) -> NDArray[np.intp]:
    """Deal bags to folds in the order of their likelihood.

    So folds are alike and do not depend on the order of the rows.
    """
    ease = _bag_log_likelihood(problem, machines)
    rank = np.argsort(np.argsort(ease, kind="stable"), kind="stable")
    return rank % min(N_FOLDS, problem.counts.n_bags)


def _held_out(
    problem: CoupledLogisticProblem, end: Machines, fold: NDArray[np.intp], solve: Solve
) -> Floats:
    """Return the weighted log-likelihood of bags under machines trained without them."""
    found = np.empty(problem.counts.n_bags)
    for number in np.unique(fold):
        kept, left = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        machines = solve(part_of(problem, kept), end, _COMPARED_TOL).machines
        found[left] = _bag_log_likelihood(part_of(problem, left), machines)
    return found * problem.bag_costs / max(float(problem.bag_costs.mean()), 1e-300)


def _bag_log_likelihood(problem: CoupledLogisticProblem, machines: Machines) -> Floats:
    scores = problem.target_features @ machines.target_weights + machines.target_intercept
    return count_posterior(scores, problem.counts).log_likelihood


def part_of(problem: CoupledLogisticProblem, bags: NDArray[Any]) -> CoupledLogisticProblem:
    """Return the problem of some of the bags, with all source rows."""
    return replace(
        problem,
        target_features=problem.target_features[problem.counts.rows_of(bags)],
        counts=problem.counts.take(bags),
        bag_costs=problem.bag_costs[bags],
    )
