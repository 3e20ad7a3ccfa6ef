# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validated count log-likelihood of many settings of the count-likelihood machine.

What settings have in common is computed once: the features of all rows for each kernel in every
process that works, and the starts of each fold. Within a fold, settings are solved from one
another. From the source machine the coupling falls, so that the target machine leaves the pooled
one step by step; from inverse calibration the cost of the target grows, so that the counts take
over step by step. These are paths to the minima that the two starts stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bagshift.bags import Bags
from bagshift.estimators._count_starts import inverse_calibration_start, source_start
from bagshift.estimators._count_units import CountUnits, count_units
from bagshift.estimators._feature_space import feature_space, standardize
from bagshift.estimators._kernel_matrix import check_kernel_matrix
from bagshift.estimators._training import TrainingData
from bagshift.estimators.count_likelihood import CountLikelihoodClassifier
from bagshift.kernels import require_memory
from bagshift.model_selection._folds import BagFold, shuffled_folds
from bagshift.model_selection._grouping import group, parameters
from bagshift.model_selection._parallel import Common, Task, counter, in_parallel, seed_of, workers
from bagshift.model_selection._search_engine import BagScores, FoldScores, Grid, Progress
from bagshift.model_selection.grids import count_grid
from bagshift.model_selection.splitters import LeaveOneBagOut
from bagshift.solvers.count_likelihood import count_posterior
from bagshift.solvers.coupled_logistic import (
    CoupledLogisticResult,
    Machines,
    solve_coupled_logistic,
)

Floats = NDArray[np.float64]

SPACE = (
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "standardize",
    "n_components",
    "random_state",
)
# Settings are compared on scores that need not be exact; the machine chosen is.
LOOSEST_TOL = 1e-2
_FEW_BAGS, _MANY_BAGS = 10, 30
MOST_LANDMARKS = 300
SMALLEST_DIRECTION = 1e-5


@dataclass(frozen=True)
class _Block:
    """Settings with the same features, and what they share.

    `target_features` are those of the rows of `units`.
    """

    machines: list[CountLikelihoodClassifier]
    data: TrainingData
    units: CountUnits
    source_features: Any
    target_features: Any


@dataclass(frozen=True)
class FoldResult:
    """Held-out bags of a fold: log-likelihood of every setting, and error of expected shares."""

    bags: NDArray[np.int64]
    log_likelihood: Floats
    share_error: Floats
    converged: NDArray[np.bool_]


class CountEngine:
    """Engine of the count-likelihood machine."""

    machine_names = ("CountLikelihoodClassifier",)

    def serves(self, machine: Any) -> bool:
        """Tell whether an estimator is such a machine."""
        return isinstance(machine, CountLikelihoodClassifier)

    def grid(self, name: str, machine: Any, given: TrainingData) -> Grid:
        """Return a named grid for a machine and all its training data."""
        return count_grid(name, machine, given)

    def for_sample(
        self, machines: list[Any], given: TrainingData, sample: TrainingData
    ) -> list[Any]:
        """Return the machines themselves: prior variances are the same for any number of rows."""
        return machines

    def default_cv(self, bags: Bags) -> Any:
        """Return five folds, ten where bags are few; a likelihood is smooth and needs no more."""
        if bags.n_bags < _FEW_BAGS:
            return LeaveOneBagOut()
        return shuffled_folds(10 if bags.n_bags < _MANY_BAGS else 5)

    def require_memory(self, machines: list[Any], given: TrainingData, n_running: int) -> None:
        """Refuse features that do not fit with a part of them for every running fold."""
        _require_memory(machines[0], given, n_running)

    def cross_validate(
        self,
        machines: list[Any],
        given: TrainingData,
        folds: list[BagFold],
        *,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> FoldScores:
        """Return the scores of machines, one per setting, on held-out bags.

        Parameters
        ----------
        machines : list of CountLikelihoodClassifier
            Unfitted.
        given : TrainingData
            All training data, as ``fit`` would read them.
        folds : list of BagFold
        n_jobs : int, optional
            Folds worked on at the same time.
        progress : callable, optional
            Called with the number of folds done and the number of all, over all kernels.

        Returns
        -------
        FoldScores
            Scored by the mean over held-out bags, by their weights, of log P(published number).

        Raises
        ------
        KernelMemoryError
            When the features would not fit into memory.
        """
        for machine in machines:
            machine._check_learnable(given)
        if any(machine.kernel == "precomputed" for machine in machines):
            check_kernel_matrix(given.X_source, given.X_target)
        units = count_units(given)
        blocks = group(range(len(machines)), lambda i: parameters(machines[i], SPACE))
        advance = counter(progress, len(blocks) * len(folds))
        scores = CountScores(len(machines), given.bags, folds)
        with workers(n_jobs) as run:
            for members in blocks:
                of_kernel = [machines[i] for i in members]
                # Made in the call, so that the features of one kernel are gone before the next.
                block = Common(
                    partial(
                        make_block, of_kernel, given, units, seed_of(of_kernel[0].random_state)
                    ),
                    given.X_source,
                    given.X_target,
                )
                results = in_parallel(run, _run_fold, block, folds, advance)
                for number, result in enumerate(results):
                    scores.add(members, number, result)
        return scores.as_fold_scores()


def _require_memory(
    machine: CountLikelihoodClassifier, given: TrainingData, n_running: int
) -> None:
    """Refuse features that do not fit with a part of them for every running fold."""
    if machine._kernel(given).name == "linear":
        return
    n_rows = given.n_source + len(given.bags)
    rank = min(machine.n_components or MOST_LANDMARKS, MOST_LANDMARKS, n_rows)
    require_memory(
        (1 + n_running) * n_rows * rank * 8,
        f"A low-rank map of {n_rows:,} rows with {rank:,} landmarks and a copy for "
        f"{n_running:,} fold{'' if n_running == 1 else 's'} at a time",
        "lower n_components or n_jobs, or use kernel='linear'",
    )


class CountScores:
    """Collects results of folds into scores of settings."""

    def __init__(self, n_settings: int, bags: Bags, folds: list[BagFold]) -> None:
        shape = n_settings, len(folds)
        self.weights = bags.weights
        self.test_bags = [fold.test_bags for fold in folds]
        self.score, self.share_error = np.empty(shape), np.empty(shape)
        self.converged = np.empty(shape, dtype=bool)
        self.total = np.zeros((n_settings, bags.n_bags))
        self.times = np.zeros((n_settings, bags.n_bags))

    def add(self, members: list[int], fold: int, result: FoldResult) -> None:
        weights = self.weights[result.bags]
        place = np.ix_(np.asarray(members), result.bags)
        self.score[members, fold] = np.average(result.log_likelihood, axis=1, weights=weights)
        self.share_error[members, fold] = result.share_error
        self.converged[members, fold] = result.converged
        self.total[place] += result.log_likelihood
        self.times[place] += 1

    def as_fold_scores(self) -> FoldScores:
        held_out = self.times > 0
        values = np.where(held_out, self.total / np.maximum(self.times, 1), np.nan)
        return FoldScores(
            scores=self.score,
            converged=self.converged,
            details={"share_error": self.share_error},
            bags=BagScores(values, self.weights),
            fold_weights=self._fold_weights(),
        )

    def _fold_weights(self) -> Floats | None:
        """Return the mean weight of the bags of each fold; None where it says nothing.

        The mean and not the sum: bags of equal weight leave folds to count the same, as they do
        in scikit-learn, however many bags a fold has.
        """
        if np.ptp(self.weights) == 0:
            return None
        return np.array([self.weights[bags].mean() for bags in self.test_bags])


def make_block(
    machines: list[CountLikelihoodClassifier], given: TrainingData, units: CountUnits, seed: int
) -> _Block:
    """Return settings of one kernel with the features of all rows."""
    machine = machines[0]
    _require_memory(machine, given, 1)
    data = standardize(given, machine._column_scale(given))
    space = feature_space(
        machine._kernel(data),
        data,
        n_components=min(machine.n_components or MOST_LANDMARKS, MOST_LANDMARKS),
        smallest=SMALLEST_DIRECTION,
        random_state=seed,
    )
    source = None if data.n_source == 0 else space.transform(data.X_source)
    return _Block(machines, data, units, source, space.transform(units.rows_from(data.X_target)))


def _run_fold(block: _Block, fold: BagFold, task: Task) -> FoldResult:
    units = block.units
    tested = np.asarray(fold.test_bags)
    rest = block.target_features[units.counts.rows_of(tested)]
    counts = units.counts.take(tested)
    n_settings = len(block.machines)
    log_likelihood = np.empty((n_settings, len(tested)))
    share_error = np.empty(n_settings)
    converged = np.empty(n_settings, dtype=bool)
    sizes = counts.sizes
    for setting, result in solve_fold(block, fold):
        task.check()
        machines = result.machines
        scores = rest @ machines.target_weights + machines.target_intercept
        log_likelihood[setting] = count_posterior(scores, counts).log_likelihood
        # Labels would call a bag of 30 % positives at 0.3 each a bag of none.
        predicted = np.add.reduceat(expit(scores), counts.starts[:-1]) / sizes
        share_error[setting] = np.average(np.abs(predicted - units.shares[tested]), weights=sizes)
        converged[setting] = result.converged
    task.advance()
    return FoldResult(tested, log_likelihood, share_error, converged)


def solve_fold(block: _Block, fold: BagFold) -> Iterator[tuple[int, CoupledLogisticResult]]:
    """Yield the solution of every setting on the training bags of a fold."""
    bags = np.asarray(fold.train_bags)
    units = block.units.take(bags)
    features = block.target_features[block.units.counts.rows_of(block.units.with_labelled(bags))]
    starts = _Starts(block, units, features)
    names = [start_of(machine, block.data) for machine in block.machines]
    for chain in group(range(len(names)), lambda i: _link(block.machines[i], names[i])):
        chain.sort(key=lambda i: _order(block.machines[i]))
        last: Machines | None = None
        for setting in chain:
            machine = block.machines[setting]
            problem = machine._problem(block.data, units, block.source_features, features)
            result = solve_coupled_logistic(
                problem,
                start=starts.of(machine) if last is None else last,
                tol=max(machine.tol, LOOSEST_TOL),
                max_iter=machine.max_iter,
            )
            last = result.machines
            yield setting, result


@dataclass
class _Starts:
    """Starts of the chains of one fold, made when first needed."""

    block: _Block
    units: CountUnits
    features: Any

    def __post_init__(self) -> None:
        self._known: dict[tuple[str, float], Machines] = {}

    def of(self, machine: CountLikelihoodClassifier) -> Machines:
        name = start_of(machine, self.block.data)
        cost = machine.C_source if name == "source" else machine.C_target
        if (name, cost) not in self._known:
            self._known[name, cost] = self._make(name, cost, machine)
        return self._known[name, cost]

    def _make(self, name: str, cost: float, machine: CountLikelihoodClassifier) -> Machines:
        units = self.units
        if name == "source":
            return source_start(
                self.block.source_features,
                units.source_signs,
                cost * self.block.data.source_weight,
                tol=max(machine.tol, LOOSEST_TOL),
                max_iter=machine.max_iter,
            )
        return inverse_calibration_start(
            self.features, units.counts, units.shares, cost * units.weights
        )


def start_of(machine: CountLikelihoodClassifier, data: TrainingData) -> str:
    """Return the start of a setting: in a search "auto" is the source, where there is one."""
    can_use_source = data.n_source > 0 and machine.C_source > 0
    if machine.start == "inverse_calibration" or not can_use_source:
        return "inverse_calibration"
    return "source"


def _link(machine: CountLikelihoodClassifier, start: str) -> tuple[Any, ...]:
    """Return what settings of one chain share."""
    fixed = machine.C_target if start == "source" else machine.coupling
    return (start, machine.C_source, fixed, machine.tol, machine.max_iter)


def _order(machine: CountLikelihoodClassifier) -> tuple[float, float]:
    """Return the place of a setting in its chain."""
    return (-machine.coupling, machine.C_target)
