# SPDX-License-Identifier: BSD-3-Clause
"""Settings of coupled machines on folds, by explicit features.

What settings have in common is computed once: for each kernel, the map, the features of the
source rows and the means of the mapped rows of every bag, of which a fold takes its rows. Rows
that a fold holds out are mapped when it scores them. Within a fold every setting starts from the
solution of an earlier one, never from one that has seen other bags: at the tolerance of a search
a start could be taken for the solution.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from bagshift.estimators._coupled import Loss
from bagshift.estimators._feature_space import FeatureSpace, feature_space
from bagshift.estimators._scalable import ScalableMachine, choose_solver
from bagshift.estimators._training import TrainingData
from bagshift.kernels import require_memory as require_bytes
from bagshift.kernels import unit_means
from bagshift.model_selection._coupled_blocks import (
    Block,
    Chain,
    Family,
    family_of,
    training_part,
)
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection._parallel import Common, Task, in_parallel, seed_of, workers
from bagshift.model_selection._share_errors import FoldErrors, errors_without_bags
from bagshift.model_selection.scorers import bag_errors_of
from bagshift.solvers import (
    CoupledLinearProblem,
    CoupledLinearResult,
    LinearUnits,
    solve_coordinate_descent,
    solve_coupled_linear,
)
from bagshift.solvers._chunks import CHUNK_ROWS

Floats = NDArray[np.float64]

_LOG = logging.getLogger("bagshift")

# Components of a map in a search, where the machine leaves them to us: the work of a setting
# grows with their square, and settings are compared at the same number.
SEARCH_COMPONENTS = 300
# By how much the duality gap may be wider than in the machine that is returned. Newton's method
# still comes to scores that agree in three digits, which is what settings are compared on.
_WIDER_GAP = {"newton": 1e3, "coordinate": 1.0}
# Single precision is made double once and not in every pass, up to so many bytes.
_MOST_DOUBLED = 2**30


@dataclass(frozen=True)
class ExplicitBlock(Block):
    """Settings with the same kernel, and its features.

    `source` are those of the source rows, `target` means of those of the rows of target units.
    """

    solver: str
    space: FeatureSpace
    source: Any
    target: Any

    def features(self, X: Any) -> Any:
        """Return the features of rows."""
        return X if self.space.feature_map is None else self.space.transform(X)


@dataclass(frozen=True)
class _Solved:
    """Target machines of the settings of a chain: (q, n_features), (q,) and (q,)."""

    weights: Floats
    intercepts: Floats
    converged: NDArray[np.bool_]


def n_components_of(machine: Any, data: TrainingData) -> int | None:
    """Return how many components a map has in a search over settings of a machine, if any."""
    if machine.kernel == "linear":
        return None
    n_rows = data.n_source + len(data.bags)
    wanted = SEARCH_COMPONENTS if machine.n_components == "auto" else machine.n_components
    return n_rows if wanted is None else min(int(wanted), n_rows)


def require_memory(machine: Any, data: TrainingData, n_running: int) -> None:
    """Refuse features that do not fit with the bags of every running fold.

    Parameters
    ----------
    machine : ScalableMachine
    data : TrainingData
        What the machines learn from.
    n_running : int
        Folds at a time.

    Raises
    ------
    KernelMemoryError
    """
    rank = n_components_of(machine, data)
    if rank is None:
        return  # the rows themselves
    n_rows = data.n_source + (1 + n_running) * data.n_target_units
    require_bytes(
        n_rows * rank * 8,
        f"A map of {data.n_source:,} source rows and {data.n_target_units:,} bags to {rank:,} "
        f"components with a copy for {n_running:,} fold{'' if n_running == 1 else 's'} at a time",
        "lower n_components or n_jobs, search on a sample of the rows by max_rows, or use "
        "kernel='linear'",
    )


def errors_of_groups(
    groups: list[list[ScalableMachine]],
    given: TrainingData,
    folds: list[BagFold],
    n_jobs: int | None,
    advance: Callable[[], None],
) -> Iterator[tuple[int, int, FoldErrors]]:
    """Yield the errors of groups of machines, each of one kernel, on held-out bags.

    Parameters
    ----------
    groups : list of list of ScalableMachine
        Unfitted, all of one type; those of a group with the same parameters of map and solver.
    given : TrainingData
        All training data, as ``fit`` would read them.
    folds : list of BagFold
    n_jobs : int or None
        Folds worked on at the same time.
    advance : callable
        Called after every fold of a group.

    Yields
    ------
    group, fold : int
        Whose errors they are.
    errors : FoldErrors

    Raises
    ------
    KernelMemoryError
        When the features would not fit into memory.
    """
    with workers(n_jobs) as run:
        for number, members in enumerate(groups):
            # Made in the call, so that the features of one kernel are gone before the next are
            # made.
            of_folds = _errors_of_folds(run, members, given, folds, advance)
            for fold, errors in enumerate(of_folds):
                yield number, fold, errors


def _say(machines: list[ScalableMachine], data: TrainingData) -> None:
    """Say in the log what settings are compared on."""
    machine: Any = machines[0]
    solver = choose_solver(machine.solver, machine._kernel(data), data)
    n_components = n_components_of(machine, data)
    _LOG.info(
        "Search of %d settings on %d source rows and %d bags or labelled rows, by %s (solver=%r).",
        len(machines),
        data.n_source,
        data.n_target_units,
        "their columns" if n_components is None else f"{n_components:,} components",
        solver,
    )


def _make_block(
    machine: Any, family: Family, seed: int, given: TrainingData, data: TrainingData
) -> ExplicitBlock:
    """Make the features in a process, which may be one of another machine."""
    require_memory(machine, data, 1)
    space = feature_space(
        family.kernel,
        data,
        n_components=n_components_of(machine, data),
        feature_map=machine.feature_map,
        random_state=seed,
    )
    transform = None if space.feature_map is None else space.transform
    source = data.X_source
    if transform is not None and source is not None:
        source = transform(source)
    means = unit_means(data.X_target, data.unit_of_row, data.n_target_units, transform=transform)
    return ExplicitBlock(
        family=family,
        given=given,
        data=data,
        solver=choose_solver(machine.solver, family.kernel, data),
        space=space,
        source=_ready_for_passes(source),
        target=_ready_for_passes(means),
    )


def _ready_for_passes(features: Any) -> Any:
    """Return features whose rows can be read one by one or in chunks, thousands of times."""
    if features is None or sparse.issparse(features):
        return features
    is_small = features.size * 8 <= _MOST_DOUBLED
    return np.ascontiguousarray(features, dtype=np.float64 if is_small else None)


# Folds ------------------------------------------------------------------------------------


def _errors_of_folds(
    run: Any,
    machines: list[ScalableMachine],
    given: TrainingData,
    folds: list[BagFold],
    advance: Callable[[], None],
) -> list[FoldErrors]:
    machine: Any = machines[0]
    data = machine._select(given)
    _say(machines, data)
    family = family_of(list(machines), data)
    make = partial(_make_block, machine, family, seed_of(machine.random_state), given, data)
    if data.bags.n_bags == 0:
        return _errors_without_bags(machines, make(), folds, advance)
    return in_parallel(
        run, _errors_of_fold, Common(make, given.X_source, given.X_target), folds, advance
    )


def _errors_of_fold(block: ExplicitBlock, fold: BagFold, task: Task) -> FoldErrors:
    data, units = training_part(block, fold)
    target = block.target[units[data.n_source :] - data.n_source]
    held_out = block.features(block.given.X_target[fold.test_rows])
    bags = block.given.bags[fold.test_rows]
    errors = FoldErrors.empty(block.n_settings, len(fold.test_bags))
    for chain, solved in _solved_chains(block, data, target, task.check):
        scores = _scores(held_out, solved)
        hard, soft = bag_errors_of(bags, scores, chain.machine, flipped=block.given.is_flipped)
        errors.hard[chain.settings], errors.soft[chain.settings] = hard.T, soft.T
        errors.converged[chain.settings] = solved.converged
    task.advance()
    return errors


def _errors_without_bags(
    machines: list[ScalableMachine],
    block: ExplicitBlock,
    folds: list[BagFold],
    advance: Callable[[], None],
) -> list[FoldErrors]:
    X = block.given.X_target
    scores = np.empty((X.shape[0], block.n_settings))
    converged = np.empty(block.n_settings, dtype=bool)
    solved_chains = list(_solved_chains(block, block.data, block.target, lambda: None))
    for first in range(0, X.shape[0], CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        features = block.features(X[rows])
        for chain, solved in solved_chains:
            scores[rows, chain.settings] = _scores(features, solved)
            converged[chain.settings] = solved.converged
    return errors_without_bags(machines, block, scores, converged, folds, advance)


def _scores(features: Any, solved: _Solved) -> Floats:
    """Return decision values, shape (n_rows, q)."""
    products = safe_sparse_dot(features, solved.weights.T, dense_output=True)
    return np.asarray(products + solved.intercepts)


# Solutions --------------------------------------------------------------------------------


def _solved_chains(
    block: ExplicitBlock, data: TrainingData, target: Any, before: Callable[[], None]
) -> Iterator[tuple[Chain, _Solved]]:
    """Solve the chains of a block on a part of its data, something being done before each step."""
    problems: dict[Any, CoupledLinearProblem] = {}
    earlier: CoupledLinearResult | None = None
    for chain in block.chains:
        machine: Any = chain.machine
        if machine not in problems:
            problems[machine] = _problem(machine, data, block.source, target)
        results = []
        for result in _solve_chain(chain, problems[machine], block.solver, earlier):
            before()
            results.append(result)
        earlier = results[0]
        yield (
            chain,
            _Solved(
                weights=np.stack([result.machines.target_weights for result in results]),
                intercepts=np.array([result.machines.target_intercept for result in results]),
                converged=np.array([result.converged for result in results]),
            ),
        )


def _problem(machine: Any, data: TrainingData, source: Any, target: Any) -> CoupledLinearProblem:
    """State the program of a machine at its own costs."""
    losses = machine._losses(data)
    return CoupledLinearProblem(
        source=_units(source, [losses.source]) if data.n_source else None,
        target=_units(target, losses.target),
        coupling=losses.coupling,
    )


def _units(features: Any, losses: list[Loss]) -> LinearUnits:
    names = ("targets", "half_widths", "lower", "upper")
    values = [np.concatenate([getattr(loss, name) for loss in losses]) for name in names]
    return LinearUnits(features, *values)


def _solve_chain(
    chain: Chain, unit: CoupledLinearProblem, solver: str, earlier: CoupledLinearResult | None
) -> Iterator[CoupledLinearResult]:
    """Solve every setting of a chain: from the last coupling, or the first of the last costs."""
    last_costs, first = None, earlier
    for source_cost, target_cost, coupling in zip(
        chain.source_costs, chain.target_costs, chain.couplings, strict=True
    ):
        problem = CoupledLinearProblem(
            source=None if unit.source is None else _at_cost(unit.source, source_cost),
            target=_at_cost(unit.target, target_cost),
            coupling=float(coupling),
        )
        costs = source_cost, target_cost
        is_first = costs != last_costs
        earlier = _solve(problem, chain.machine, solver, first if is_first else earlier)
        if is_first:
            last_costs, first = costs, earlier
        yield earlier


def _at_cost(units: LinearUnits, cost: float) -> LinearUnits:
    return replace(units, lower=cost * units.lower, upper=cost * units.upper)


def _solve(
    problem: CoupledLinearProblem, machine: Any, solver: str, earlier: CoupledLinearResult | None
) -> CoupledLinearResult:
    tol, limit = machine._explicit_limits(solver)
    tol *= _WIDER_GAP[solver]
    if solver == "coordinate":
        dual = getattr(earlier, "dual", None)
        return solve_coordinate_descent(problem, tol=tol, max_iter=limit, start=dual)
    start = None if earlier is None else earlier.machines
    return solve_coupled_linear(problem, tol=tol, max_iter=limit, start=start)
