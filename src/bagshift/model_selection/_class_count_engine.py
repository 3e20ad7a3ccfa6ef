# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validated log-likelihood of the counts of more than two classes, of many settings.

As with two classes the features of all rows are computed once for each kernel, and settings are
solved from one another: from the source machine the coupling falls, from inverse calibration the
cost of the target grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bagshift.estimators._class_count_fit import (
    inverse_calibration_start,
    mean_features,
    softmax_problem,
    source_start,
)
from bagshift.estimators._class_training import ClassTraining
from bagshift.estimators._class_units import ClassUnits, class_units
from bagshift.estimators._feature_space import feature_space
from bagshift.estimators.count_likelihood import CountLikelihoodClassifier
from bagshift.model_selection._count_engine import (
    LOOSEST_TOL,
    MOST_LANDMARKS,
    SMALLEST_DIRECTION,
    SPACE,
    CountScores,
    FoldResult,
)
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection._grouping import group, parameters
from bagshift.model_selection._parallel import Common, Task, counter, in_parallel, seed_of, workers
from bagshift.model_selection._search_engine import FoldScores, Progress
from bagshift.solvers.class_counts import class_count_posterior
from bagshift.solvers.coupled_softmax import (
    ClassMachines,
    CoupledSoftmaxResult,
    solve_coupled_softmax,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Block:
    """Settings with the same features, and what they share.

    `target_features` are those of the rows of `units`; `means` those of the bags.
    """

    machines: list[CountLikelihoodClassifier]
    data: ClassTraining
    units: ClassUnits
    source_features: Any
    target_features: Any
    means: Any


def cross_validate_class_counts(
    machines: list[Any],
    given: ClassTraining,
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
    given : ClassTraining
    folds : list of BagFold
    n_jobs : int, optional
        Folds worked on at the same time.
    progress : callable, optional
        Called with the number of folds done and the number of all, over all kernels.

    Returns
    -------
    FoldScores
        Scored by the mean over held-out bags, by their weights, of log P(counts).
    """
    units = class_units(given)
    blocks = group(range(len(machines)), lambda i: parameters(machines[i], SPACE))
    advance = counter(progress, len(blocks) * len(folds))
    scores = CountScores(len(machines), given.bags, folds)
    with workers(n_jobs) as run:
        for members in blocks:
            of_kernel = [machines[i] for i in members]
            seed = seed_of(of_kernel[0].random_state)
            block = Common(
                partial(_make_block, of_kernel, given, units, seed),
                given.X_source,
                given.X_target,
            )
            results = in_parallel(run, _run_fold, block, folds, advance)
            for number, result in enumerate(results):
                scores.add(members, number, result)
    return scores.as_fold_scores()


def _make_block(
    machines: list[CountLikelihoodClassifier], given: ClassTraining, units: ClassUnits, seed: int
) -> _Block:
    machine = machines[0]
    scale = machine._column_scale(given.against_rest(0))
    data = given if scale is None else given.standardized(scale)
    view = data.against_rest(0)
    space = feature_space(
        machine._kernel(view),
        view,
        n_components=min(machine.n_components or MOST_LANDMARKS, MOST_LANDMARKS),
        smallest=SMALLEST_DIRECTION,
        random_state=seed,
    )
    source = None if data.n_source == 0 else space.transform(data.X_source)
    means = mean_features(data, None if space.feature_map is None else space.transform)
    target = space.transform(units.rows_from(data.X_target))
    return _Block(machines, data, units, source, target, means)


def _run_fold(block: _Block, fold: BagFold, task: Task) -> FoldResult:
    tested = np.asarray(fold.test_bags)
    rest = block.target_features[block.units.counts.rows_of(tested)]
    counts = block.units.counts.take(tested)
    n_settings = len(block.machines)
    log_likelihood = np.empty((n_settings, len(tested)))
    share_error, converged = np.empty(n_settings), np.empty(n_settings, dtype=bool)
    shares = counts.counts / counts.sizes[:, None]
    for setting, result in _solve_fold(block, fold):
        task.check()
        machines = result.machines
        scores = np.asarray(rest @ machines.target_weights.T + machines.target_intercepts)
        log_likelihood[setting] = class_count_posterior(scores, counts).log_likelihood
        predicted = np.add.reduceat(softmax(scores, axis=1), counts.starts[:-1])
        errors = 0.5 * np.abs(predicted / counts.sizes[:, None] - shares).sum(axis=1)
        share_error[setting] = np.average(errors, weights=counts.sizes)
        converged[setting] = result.converged
    task.advance()
    return FoldResult(tested, log_likelihood, share_error, converged)


def _solve_fold(block: _Block, fold: BagFold) -> Iterator[tuple[int, CoupledSoftmaxResult]]:
    """Solve all settings on the bags of a fold, each from the one before it on its path."""
    n_bags = block.data.bags.n_bags
    labelled = np.arange(n_bags, block.units.counts.n_bags)
    taken = np.concatenate([fold.train_bags, labelled]).astype(np.int64)
    units = ClassUnits(
        block.units.rows, block.units.counts.take(taken), block.units.weights[taken]
    )
    target = block.target_features[block.units.counts.rows_of(taken)]
    for path in _paths(block):
        last: ClassMachines | None = None
        for setting in path:
            machine = block.machines[setting]
            problem = softmax_problem(machine, block.data, units, block.source_features, target)
            if last is None and _start(block, machine) == "source":
                last = source_start(problem, machine.max_iter)
            elif last is None:
                last = _calibrated(block, fold, machine)
            tol = max(machine.tol, LOOSEST_TOL)
            result = solve_coupled_softmax(problem, start=last, tol=tol, max_iter=machine.max_iter)
            last = result.machines
            yield setting, result


def _start(block: _Block, machine: CountLikelihoodClassifier) -> str:
    if machine.start != "auto":
        return machine.start
    has_source = block.data.n_source > 0 and machine.C_source > 0
    return "source" if has_source else "inverse_calibration"


def _calibrated(block: _Block, fold: BagFold, machine: CountLikelihoodClassifier) -> ClassMachines:
    return inverse_calibration_start(machine, block.data, block.means, bags=fold.train_bags)


def _paths(block: _Block) -> list[list[int]]:
    """Return settings in the order that they are solved in, path by path."""
    machines = block.machines
    starts = [_start(block, machine) for machine in machines]
    from_source = [i for i, start in enumerate(starts) if start == "source"]
    others = [i for i, start in enumerate(starts) if start != "source"]
    falling = group(from_source, lambda i: (machines[i].C_source, machines[i].C_target))
    growing = group(others, lambda i: (machines[i].C_source, machines[i].coupling))
    return [
        *(sorted(members, key=lambda i: -machines[i].coupling) for members in falling),
        *(sorted(members, key=lambda i: machines[i].C_target) for members in growing),
    ]
