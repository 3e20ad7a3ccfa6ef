# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validated share errors of many settings of one kernel machine.

What settings have in common is computed once: the kernel matrix of all units for each kernel, of
which every fold takes its rows and columns; kernels of several widths are made together, since
they share exponentials. Within a fold, settings that differ in costs and
coupling alone form chains that are solved from one another: along the coupling the last solution
is still feasible; from (C_source, C_target) to a common multiple of both, so is its multiple.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.base import clone

from bagshift.bags import Bags
from bagshift.estimators._coupled import CoupledMachine, finite_grams, row_coefficients
from bagshift.estimators._training import TrainingData
from bagshift.estimators.source_svm import threshold_for
from bagshift.kernels import (
    Kernel,
    decision_values,
    free_memory,
    require_memory,
    unit_crosses,
)
from bagshift.kernels._tiles import kernel_dtype
from bagshift.model_selection._folds import BagFold, default_bag_cv
from bagshift.model_selection._grouping import Task, counter, group, in_parallel, parameters
from bagshift.model_selection._search_engine import BagScores, FoldScores, Grid, Progress
from bagshift.model_selection.grids import named_grid
from bagshift.model_selection.scorers import bag_errors_of, combine_errors
from bagshift.solvers import CoupledChain, CoupledProblem, solve_coupled_chain

Floats = NDArray[np.float64]

_KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0")
_COSTS = ("C", "C_source", "C_target")

# Most bytes of kernel matrices that are made together. Not simply what is free: which kernels
# share an exponential shows in their last digits, and a search should not depend on the machine.
_SHARED_BYTES = 2**30


@dataclass(frozen=True)
class _Chain:
    """Settings that differ in costs and coupling alone, in the order to solve them in.

    `machine` has these parameters and unit costs; chains of machines that differ in nothing else
    share it.
    """

    settings: NDArray[np.intp]
    machine: CoupledMachine
    source_costs: Floats
    target_costs: Floats
    couplings: Floats


@dataclass(frozen=True)
class _Block:
    """Settings with the same kernel, and what they share.

    `given` is all training data, `data` the part that the machines learn from.
    """

    machines: list[CoupledMachine]
    given: TrainingData
    data: TrainingData
    kernel: Kernel
    gram: NDArray[Any]
    chains: list[_Chain]


@dataclass(frozen=True)
class _FoldErrors:
    """Errors of the settings of a block on every bag that a fold holds out."""

    hard: Floats
    soft: Floats
    converged: NDArray[np.bool_]


@dataclass(frozen=True)
class _Solutions:
    """Decision functions of the settings of a block: row coefficients and intercepts."""

    coefficients: Floats
    intercepts: Floats
    converged: NDArray[np.bool_]


class CoupledEngine:
    """Engine of the machines that solve one coupled quadratic program."""

    machine_names = ("TGPLM", "InverseCalibrationSVM", "SourceSVM")

    def serves(self, machine: Any) -> bool:
        """Tell whether an estimator is such a machine."""
        return isinstance(machine, CoupledMachine) and machine._is_one_program

    def grid(self, name: str, machine: Any, given: TrainingData) -> Grid:
        """Return a named grid for a machine and all its training data."""
        return named_grid(name, machine, machine._select(given))

    def default_cv(self, bags: Bags) -> Any:
        """Return ten folds, repeated below thirty bags, since share errors move in steps."""
        return default_bag_cv(bags)

    def require_memory(self, machines: list[Any], given: TrainingData, n_running: int) -> None:
        """Refuse a kernel matrix that does not fit with a part of it for every running fold."""
        data = machines[0]._select(given)
        if data.bags.n_bags == 0:
            return  # one solution serves all folds; the matrix is checked where it is made
        itemsize = kernel_dtype(data.X_source, data.X_target).itemsize
        ways_out = ["lower n_jobs"] if n_running > 1 else []
        ways_out += ["search on a sample of the rows"]
        ways_out += ["use float32 features"] if itemsize > 4 else []
        require_memory(
            (1 + n_running) * (data.n_source + data.n_target_units) ** 2 * itemsize,
            f"A kernel matrix over {data.n_source:,} source rows and {data.n_target_units:,} bags "
            f"with a copy for {n_running:,} fold{'' if n_running == 1 else 's'} at a time",
            " or ".join(ways_out),
        )

    def cross_validate(
        self,
        machines: list[Any],
        given: TrainingData,
        folds: list[BagFold],
        *,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> FoldScores:
        """Return the scores of machines of one type, one per setting, on held-out bags.

        Parameters
        ----------
        machines : list of CoupledMachine
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
            Scored by 1 - share error, its ties broken by the soft share error.

        Raises
        ------
        KernelMemoryError
            When a kernel matrix would not fit into memory.
        """
        errors = _Errors(len(machines), given.bags, folds)
        groups = group(range(len(machines)), lambda i: parameters(machines[i], _KERNEL_PARAMETERS))
        advance = counter(progress, len(groups) * len(folds))
        at_once = _kernels_at_once(machines[0]._select(given), folds, n_jobs)
        for first in range(0, len(groups), at_once):
            together = groups[first : first + at_once]
            # Made in the call, so that these kernel matrices are gone before the next are made.
            of_folds = _errors_of_blocks(
                _make_blocks([[machines[i] for i in members] for members in together], given),
                folds,
                n_jobs,
                advance,
            )
            for fold, of_blocks in enumerate(of_folds):
                for members, of_block in zip(together, of_blocks, strict=True):
                    errors.add(members, fold, of_block)
        return errors.as_scores()


def _kernels_at_once(data: TrainingData, folds: list[BagFold], n_jobs: int | None) -> int:
    """Return of how many kernels to hold the matrices; one where memory is short."""
    itemsize = kernel_dtype(data.X_source, data.X_target).itemsize
    n_running: int = min(effective_n_jobs(n_jobs), len(folds))
    n_units = data.n_source + data.n_target_units
    n_held_out = max(len(fold.test_rows) for fold in folds)
    of_one = n_units * (n_units + n_running * n_held_out) * itemsize
    copies = n_running * n_units**2 * itemsize
    free = free_memory()
    room = _SHARED_BYTES if free is None else min(_SHARED_BYTES, (free - copies) // 2)
    return max(1, room // max(1, of_one))


def _make_blocks(machines: list[list[CoupledMachine]], given: TrainingData) -> list[_Block]:
    """Return a block for every group of machines of the same kernel."""
    data = machines[0][0]._select(given)
    kernels = [members[0]._kernel(data) for members in machines]
    return [
        _Block(members, given, data, kernel, gram, _chains(members))
        for members, kernel, gram in zip(
            machines, kernels, finite_grams(kernels, data), strict=True
        )
    ]


def _errors_of_blocks(
    blocks: list[_Block], folds: list[BagFold], n_jobs: int | None, advance: Callable[[], None]
) -> Sequence[Sequence[_FoldErrors]]:
    """Return the errors of every block on every fold, fold by fold."""
    if blocks[0].data.bags.n_bags == 0:
        of_blocks = [_errors_without_bags(block, folds, advance) for block in blocks]
        return list(zip(*of_blocks, strict=True))
    return in_parallel(partial(_errors_of_fold, blocks), folds, advance, n_jobs)


def _errors_of_fold(blocks: list[_Block], fold: BagFold, task: Task) -> list[_FoldErrors]:
    errors = []
    for block, cross in zip(blocks, _held_out_kernels(blocks, fold), strict=True):
        errors.append(_errors_of_block(block, fold, cross, task))
        task.advance()
    return errors


def _errors_of_block(block: _Block, fold: BagFold, cross: NDArray[Any], task: Task) -> _FoldErrors:
    data, units = _training_part(block, fold)
    gram, cross = block.gram[np.ix_(units, units)], cross[:, units]
    bags = block.given.bags[fold.test_rows]
    shape = len(block.machines), len(fold.test_bags)
    errors = _FoldErrors(np.empty(shape), np.empty(shape), np.empty(shape[0], dtype=bool))
    for chain, solved in _solved_chains(block, data, gram, task.check):
        scores = solved.scores(cross)
        hard, soft = bag_errors_of(bags, scores, chain.machine, flipped=block.given.is_flipped)
        errors.hard[chain.settings], errors.soft[chain.settings] = hard.T, soft.T
        errors.converged[chain.settings] = solved.converged
    return errors


def _held_out_kernels(blocks: list[_Block], fold: BagFold) -> list[NDArray[Any]]:
    """Return the kernel of the held-out rows with all units, for every block."""
    data, given = blocks[0].data, blocks[0].given
    return unit_crosses(
        [block.kernel for block in blocks],
        given.X_target[fold.test_rows],
        data.X_source,
        data.X_target,
        data.unit_of_row,
        data.n_target_units,
    )


def _errors_without_bags(
    block: _Block, folds: list[BagFold], advance: Callable[[], None]
) -> list[_FoldErrors]:
    """Return the errors of machines that bags teach nothing: one solution serves every fold."""
    solutions = _solve_without_bags(block)
    scores = _scores(block, solutions, np.arange(len(block.given.bags)))
    errors = []
    for fold in folds:
        held_out = scores[fold.test_rows]
        for setting, machine in enumerate(block.machines):
            if getattr(machine, "threshold", None) == "prior":
                held_out[:, setting] -= _prior_threshold(block, fold, scores[:, setting])
        errors.append(_errors(block, fold, solutions, held_out))
        advance()
    return errors


def _prior_threshold(block: _Block, fold: BagFold, scores: Floats) -> float:
    """Return the threshold of SourceSVM for the overall share of the training bags."""
    bags = block.given.bags[fold.train_rows]
    shares = replace(block.given, bags=bags).shares
    n_positive = round(float(shares @ bags.rows_per_bag))
    return threshold_for(scores[fold.train_rows[bags.rows_in_bags()]], n_positive)


def _errors(block: _Block, fold: BagFold, solutions: _Solutions, scores: Floats) -> _FoldErrors:
    bags = block.given.bags[fold.test_rows]
    errors = [
        bag_errors_of(bags, column, machine, flipped=block.given.is_flipped)
        for machine, column in zip(block.machines, scores.T, strict=True)
    ]
    hard, soft = (np.stack(of_settings) for of_settings in zip(*errors, strict=True))
    return _FoldErrors(hard, soft, solutions.converged)


class _Errors:
    """Gathers the errors of all settings on all folds, and on all bags."""

    def __init__(self, n_settings: int, bags: Bags, folds: list[BagFold]) -> None:
        shape = n_settings, len(folds)
        self.hard, self.soft = np.empty(shape), np.empty(shape)
        self.converged = np.empty(shape, dtype=bool)
        self.weights = bags.sizes.astype(np.float64)
        self.test_bags = [fold.test_bags for fold in folds]
        self.of_bags = np.zeros((n_settings, bags.n_bags))

    def add(self, settings: list[int], fold: int, errors: _FoldErrors) -> None:
        held_out = self.test_bags[fold]
        weights = self.weights[held_out]
        self.hard[settings, fold] = np.average(errors.hard, axis=1, weights=weights)
        self.soft[settings, fold] = np.average(errors.soft, axis=1, weights=weights)
        self.converged[settings, fold] = errors.converged
        self.of_bags[np.ix_(np.array(settings), held_out)] += combine_errors(
            errors.hard, errors.soft
        )

    def as_scores(self) -> FoldScores:
        times = np.bincount(np.concatenate(self.test_bags), minlength=len(self.weights))
        with np.errstate(invalid="ignore"):
            of_bags = self.of_bags / times
        return FoldScores(
            scores=combine_errors(self.hard, self.soft),
            converged=self.converged,
            details={"share_error": self.hard, "soft_share_error": self.soft},
            bags=BagScores(of_bags, self.weights),
        )


def _training_part(block: _Block, fold: BagFold) -> tuple[TrainingData, NDArray[np.intp]]:
    """Return the training data of a fold and its units; rows in no bag are in every fold."""
    bags = block.data.bags[fold.train_rows]
    # The problem is stated in units, so the fold's rows themselves are not needed.
    data = replace(
        block.data, X_target=None, bags=bags, labelled_rows=np.flatnonzero(bags.has_label)
    )
    n_source, n_bags = block.data.n_source, block.data.bags.n_bags
    labelled = np.arange(n_source + n_bags, len(block.gram))
    units = np.concatenate([np.arange(n_source), n_source + fold.train_bags, labelled])
    return data, units


def _solve_without_bags(block: _Block) -> _Solutions:
    """Solve every setting of machines that do not learn from bags."""
    data, machines = block.data, block.machines
    n_rows = data.n_source + len(data.bags)
    solutions = _Solutions(
        coefficients=np.zeros((n_rows, len(machines))),
        intercepts=np.empty(len(machines)),
        converged=np.empty(len(machines), dtype=bool),
    )
    for chain in block.chains:
        solved = _solve_chain(chain, chain.machine._problem(data, block.gram))
        for setting, coefficients in zip(chain.settings, solved.target_coefficients, strict=True):
            solutions.coefficients[:, setting] = row_coefficients(coefficients, data)
        solutions.intercepts[chain.settings] = solved.intercept_target
        solutions.converged[chain.settings] = solved.converged
    return solutions


def _chains(machines: list[CoupledMachine]) -> list[_Chain]:
    """Order settings into chains: same ratio of costs, growing costs, coupling innermost."""
    first = machines[0].get_params(deep=False)
    others = [name for name in first if name not in (*_COSTS, "coupling")]
    values = [vars(each) for each in machines]
    # Machines with one cost have units of one domain only.
    only = "C" if "C" in first else None
    source, target = (
        np.array([each[only or name] for each in values], dtype=float)
        for name in ("C_source", "C_target")
    )
    couplings = np.array([each.get("coupling", 0.0) for each in values], dtype=float)
    largest = np.maximum(source, target)
    ratios = np.divide(source - target, largest, out=np.zeros_like(largest), where=largest > 0)
    ratios = np.round(ratios, 12)
    at_unit_costs: dict[tuple[Any, ...], CoupledMachine] = {}
    keys = []
    for machine, ratio in zip(machines, ratios, strict=True):
        key = parameters(machine, others)
        if key not in at_unit_costs:
            unit_costs = {name: 1.0 for name in _COSTS if name in first}
            at_unit_costs[key] = clone(machine).set_params(**unit_costs)
        keys.append((key, ratio))
    chains = []
    for members in group(range(len(machines)), keys.__getitem__):
        settings = np.array(members)
        settings = settings[np.lexsort((couplings[settings], largest[settings]))]
        chains.append(
            _Chain(
                settings,
                at_unit_costs[keys[members[0]][0]],
                source[settings],
                target[settings],
                couplings[settings],
            )
        )
    return chains


def _solved_chains(
    block: _Block, data: TrainingData, gram: NDArray[Any], before: Callable[[], None]
) -> Iterator[tuple[_Chain, CoupledChain]]:
    """Solve the chains of a block on a part of its data, something being done before each."""
    problems: dict[CoupledMachine, CoupledProblem] = {}
    for chain in block.chains:
        before()
        if chain.machine not in problems:
            problems[chain.machine] = chain.machine._problem(data, gram)
        yield chain, _solve_chain(chain, problems[chain.machine])


def _solve_chain(chain: _Chain, problem: CoupledProblem) -> CoupledChain:
    """Solve every setting of a chain, each started from an earlier one."""
    return solve_coupled_chain(
        problem,
        chain.source_costs,
        chain.target_costs,
        chain.couplings,
        tol=chain.machine.tol,
        max_iter=chain.machine.max_iter,
    )


def _scores(block: _Block, solutions: _Solutions, rows: NDArray[np.int64]) -> Floats:
    """Return the decision values of target rows for every setting; (n_rows, n_settings)."""
    X = block.given.X_target[rows]
    scores = np.tile(solutions.intercepts, (X.shape[0], 1))
    n_source = block.data.n_source
    parts = [
        (block.data.X_source, np.arange(n_source)),
        (block.data.X_target, np.arange(n_source, len(solutions.coefficients))),
    ]
    for support, numbers in parts:
        if len(numbers):
            # A precomputed kernel knows training rows by their column.
            support = numbers if block.kernel.name == "precomputed" else support
            scores += decision_values(block.kernel, X, support, solutions.coefficients[numbers])
    return scores
