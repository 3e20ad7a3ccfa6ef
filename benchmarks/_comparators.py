# SPDX-License-Identifier: BSD-3-Clause
"""Proportion matching and expectation-maximisation on the coupling of the count machine.

Reference implementations for the benchmarks only: they share with the count machine the features,
the regulariser, the coupling to the source, the starts, the grid and the folds. What differs is
the loss of a bag (that of ``ProportionMatching``, or ``_bag_losses.py``), and with it the
criterion on held-out bags, by which each chooses its own parameters. The optimiser is L-BFGS with
exact gradients; from its start, the couplings of a setting fall and are solved from one another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from _bag_losses import BagLoss
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from bagshift import Bags, CountLikelihoodClassifier, CountLikelihoodCV
from bagshift.estimators._count_starts import inverse_calibration_start, source_start
from bagshift.estimators._count_units import CountUnits, count_units
from bagshift.estimators._feature_space import ColumnScale, FeatureSpace, standardize
from bagshift.estimators._training import TrainingData, read_training
from bagshift.model_selection._count_engine import _make_block
from bagshift.model_selection._folds import BagFold, bag_folds, bag_splits, default_bag_cv
from bagshift.model_selection._grouping import group
from bagshift.model_selection.path_search import engine_of
from bagshift.solvers._coordinates import CoupledCoordinates, Machines, Pull
from bagshift.solvers.score_losses import BagShares

Floats = NDArray[np.float64]

# Relative decrease of the objective at which to stop: in the search, and at the end.
SEARCH_TOL, FINAL_TOL = 1e-5, 1e-9
# What settings of one feature map may differ in.
_COSTS = ("C_source", "C_target", "coupling", "start")


# One setting ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CoupledBagProblem:
    """The count machine's problem with another loss of bags."""

    machine: CountLikelihoodClassifier
    loss: BagLoss
    source_features: Any
    source_signs: Floats
    source_weight: Floats
    target_features: Any
    units: CountUnits

    def value_and_gradient(
        self, v: Floats, coordinates: CoupledCoordinates, bags: BagShares
    ) -> tuple[float, Floats]:
        """Return the objective and its exact gradient at a place."""
        machines = coordinates.decode(v)
        margins = self.source_signs * (
            self.source_features @ machines.source_weights + machines.source_intercept
        )
        scores = self.target_features @ machines.target_weights + machines.target_intercept
        losses, slopes = self.loss(scores, bags)
        source_costs = self.machine.C_source * self.source_weight
        bag_costs = self.machine.C_target * self.units.weights
        source_push = -source_costs * self.source_signs * expit(-margins)
        target_push = bags.spread(bag_costs) * slopes
        penalty = coordinates.penalty_gradient(v)
        pull = Pull(
            source_weights=self.source_features.T @ source_push,
            source_intercept=float(source_push.sum()),
            target_weights=self.target_features.T @ target_push,
            target_intercept=float(target_push.sum()),
        )
        fit = source_costs @ np.logaddexp(0.0, -margins) + bag_costs @ losses
        return float(0.5 * (v @ penalty) + fit), coordinates.pull_back(pull) + penalty

    def solve(self, start: Machines | None, tol: float) -> Machines:
        """Minimise from a start, by default that of the machine."""
        coordinates = CoupledCoordinates(
            int(self.target_features.shape[1]), float(self.machine.coupling)
        )
        found = minimize(
            self.value_and_gradient,
            coordinates.encode(self._start() if start is None else start),
            args=(coordinates, shares_of(self.units)),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": tol, "gtol": 1e-8, "maxiter": 2000, "maxfun": 5000},
        )
        return coordinates.decode(found.x)

    def _start(self) -> Machines:
        if self.machine.start == "inverse_calibration":
            return inverse_calibration_start(
                self.target_features,
                self.units.counts,
                self.units.shares,
                self.machine.C_target * self.units.weights,
            )
        return source_start(
            self.source_features,
            self.source_signs,
            self.machine.C_source * self.source_weight,
            tol=1e-3,
            max_iter=self.machine.max_iter,
        )


def shares_of(units: CountUnits) -> BagShares:
    """Return the bags of units, with their shares."""
    return BagShares.of_sizes(units.counts.sizes, units.shares)


# Search and fit ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FittedComparator:
    """A linear machine on the features of a kernel; `score` is the accuracy."""

    data: TrainingData
    scale: ColumnScale | None
    space: FeatureSpace
    weights: Floats
    intercept: float

    def score(self, X: Any, y: NDArray[Any]) -> float:
        """Return the accuracy on labelled rows."""
        rows = X if self.scale is None else self.scale.apply(X)
        scores = self.space.transform(rows) @ self.weights + self.intercept
        return float(np.mean(self.data.classes[(scores > 0).astype(int)] == y))


def fit_comparator(
    loss: BagLoss, X: Any, bags: Bags, source: tuple[Any, Any]
) -> tuple[FittedComparator, dict[str, Any]]:
    """Choose parameters as CountLikelihoodCV does, but by the loss of held-out bags, and fit."""
    machine = CountLikelihoodClassifier()
    given = read_training(clone(machine), X, bags, source=source)
    grid = engine_of(machine).grid(CountLikelihoodCV().grid, machine, given)
    settings = list(ParameterGrid(grid))
    machines = [clone(machine).set_params(**setting) for setting in settings]
    folds = bag_folds(bag_splits(default_bag_cv(bags), X, bags), bags)
    best = int(_held_out_losses(loss, machines, given, folds).mean(axis=1).argmin())
    return _fit(loss, machines[best], given), settings[best]


def _held_out_losses(
    loss: BagLoss,
    machines: list[CountLikelihoodClassifier],
    given: TrainingData,
    folds: list[BagFold],
) -> Floats:
    """Return the mean loss of the held-out bags; shape (n_settings, n_folds)."""
    units = count_units(given)
    losses = np.empty((len(machines), len(folds)))

    def space(i: int) -> tuple[Any, ...]:
        params = machines[i].get_params(deep=False)
        return tuple(value for name, value in params.items() if name not in _COSTS)

    for members in group(range(len(machines)), space):
        block = _make_block([machines[i] for i in members], given, units)
        columns = _used_columns(block.source_features, block.target_features)
        source, target = block.source_features[:, columns], block.target_features[:, columns]
        for number, fold in enumerate(folds):
            kept, left = fold.train_bags, fold.test_bags
            part, rest = units.take(kept), units.take(left)
            features = target[units.counts.rows_of(kept)]
            tested = target[units.counts.rows_of(left)]
            for i, solution in _solve_chains(
                loss, machines, members, given, source, features, part
            ):
                scores = tested @ solution.target_weights + solution.target_intercept
                losses[i, number] = np.average(
                    loss(scores, shares_of(rest))[0], weights=rest.weights
                )
    return losses


def _used_columns(source: Any, target: Any) -> Any:
    """Return the columns that are not zero in all rows: only they get a weight."""
    if not sparse.issparse(target):
        return slice(None)
    return np.flatnonzero(source.getnnz(axis=0) + target.getnnz(axis=0))


def _solve_chains(
    loss: BagLoss,
    machines: list[CountLikelihoodClassifier],
    members: list[int],
    given: TrainingData,
    source: Any,
    target: Any,
    units: CountUnits,
) -> Iterator[tuple[int, Machines]]:
    """Yield the solution of every setting; couplings fall from the start, each from the last."""

    def link(i: int) -> tuple[Any, ...]:
        return machines[i].start, machines[i].C_source, machines[i].C_target

    for chain in group(members, link):
        last: Machines | None = None
        for i in sorted(chain, key=lambda i: -machines[i].coupling):
            problem = CoupledBagProblem(
                machines[i], loss, source, units.source_signs, given.source_weight, target, units
            )
            last = problem.solve(last, SEARCH_TOL)
            yield i, last


def _fit(
    loss: BagLoss, machine: CountLikelihoodClassifier, given: TrainingData
) -> FittedComparator:
    units = count_units(given)
    scale = machine._column_scale(given)
    data = standardize(given, scale)
    space = machine._space(data)
    source = space.transform(data.X_source)
    target = space.transform(data.X_target[units.rows])
    problem = CoupledBagProblem(
        machine, loss, source, units.source_signs, data.source_weight, target, units
    )
    found = problem.solve(None, FINAL_TOL)
    sign = units.orientation
    return FittedComparator(
        data, scale, space, sign * found.target_weights, sign * found.target_intercept
    )
