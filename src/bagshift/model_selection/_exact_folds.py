# SPDX-License-Identifier: BSD-3-Clause
"""Settings of coupled machines on folds, by kernel matrices.

What settings have in common is computed once in every process that works: the kernel matrix of
all units for each kernel, of which every fold takes its rows and columns; kernels of several
widths are made together, since they share exponentials. Chains are solved from one another: along
the coupling the last solution is still feasible; from (C_source, C_target) to a common multiple of
both, so is its multiple.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._coupled import CoupledMachine, finite_grams, row_coefficients
from bagshift.estimators._training import TrainingData
from bagshift.kernels import decision_values, free_memory, unit_crosses
from bagshift.kernels import require_memory as require_bytes
from bagshift.kernels._tiles import kernel_dtype
from bagshift.model_selection._coupled_blocks import (
    Block,
    Chain,
    Family,
    family_of,
    training_part,
)
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection._parallel import Common, Task, in_parallel, n_sharing, workers
from bagshift.model_selection._share_errors import FoldErrors, errors_without_bags
from bagshift.model_selection.scorers import bag_errors_of
from bagshift.solvers import CoupledChain, CoupledProblem, solve_coupled_chain

Floats = NDArray[np.float64]

# Most bytes of kernel matrices that are made together. Not simply what is free: which kernels
# share an exponential shows in their last digits, and a search should not depend on the machine.
_SHARED_BYTES = 2**30


@dataclass(frozen=True)
class ExactBlock(Block):
    """Settings with the same kernel, and its matrix over all units."""

    gram: NDArray[Any]


def require_memory(data: TrainingData, n_running: int) -> None:
    """Refuse a kernel matrix that does not fit with a part of it for every running fold.

    Parameters
    ----------
    data : TrainingData
        What the machines learn from.
    n_running : int
        Folds at a time.

    Raises
    ------
    KernelMemoryError
    """
    if data.bags.n_bags == 0:
        return  # one solution serves all folds; the matrix is checked where it is made
    itemsize = kernel_dtype(data.X_source, data.X_target).itemsize
    ways_out = ["lower n_jobs"] if n_running > 1 else []
    ways_out += ["search on a sample of the rows by max_rows"]
    ways_out += ["use float32 features"] if itemsize > 4 else []
    require_bytes(
        (1 + n_running) * (data.n_source + data.n_target_units) ** 2 * itemsize,
        f"A kernel matrix over {data.n_source:,} source rows and {data.n_target_units:,} bags "
        f"with a copy for {n_running:,} fold{'' if n_running == 1 else 's'} at a time",
        " or ".join(ways_out),
    )


def errors_of_groups(
    groups: list[list[CoupledMachine]],
    given: TrainingData,
    folds: list[BagFold],
    n_jobs: int | None,
    advance: Callable[[], None],
) -> Iterator[tuple[int, int, FoldErrors]]:
    """Yield the errors of groups of machines, each of one kernel, on held-out bags.

    Parameters
    ----------
    groups : list of list of CoupledMachine
        Unfitted, all of one type.
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
        When a kernel matrix would not fit into memory.
    """
    at_once = _kernels_at_once(groups[0][0]._select(given), folds, n_jobs)
    with workers(n_jobs) as run:
        for first in range(0, len(groups), at_once):
            # Made in the call, so that these kernel matrices are gone before the next are made.
            together = groups[first : first + at_once]
            of_folds = _errors_of_blocks(run, together, given, folds, advance)
            for fold, of_blocks in enumerate(of_folds):
                for number, errors in enumerate(of_blocks, start=first):
                    yield number, fold, errors


def _kernels_at_once(data: TrainingData, folds: list[BagFold], n_jobs: int | None) -> int:
    """Return of how many kernels to hold the matrices; one where memory is short.

    Where it is not, this is the same for any `n_jobs`.
    """
    itemsize = kernel_dtype(data.X_source, data.X_target).itemsize
    n_units = data.n_source + data.n_target_units
    # Held-out rows of all folds at a time are the most.
    of_one = n_units * (n_units + len(data.bags)) * itemsize
    copies = n_sharing(n_jobs, len(folds)) * n_units**2 * itemsize
    free = free_memory()
    room = _SHARED_BYTES if free is None else min(_SHARED_BYTES, (free - copies) // 2)
    return max(1, room // max(1, of_one))


def make_blocks(machines: list[list[CoupledMachine]], given: TrainingData) -> list[ExactBlock]:
    """Return a block for every group of machines of the same kernel."""
    data = machines[0][0]._select(given)
    return _blocks_of([family_of(members, data) for members in machines], given, data)


def _blocks_of(
    families: list[Family], given: TrainingData, data: TrainingData
) -> list[ExactBlock]:
    grams = finite_grams([family.kernel for family in families], data)
    return [
        ExactBlock(family, given, data, gram) for family, gram in zip(families, grams, strict=True)
    ]


def _errors_of_blocks(
    run: Any,
    groups: list[list[CoupledMachine]],
    given: TrainingData,
    folds: list[BagFold],
    advance: Callable[[], None],
) -> Sequence[Sequence[FoldErrors]]:
    """Return the errors of every group on every fold, fold by fold."""
    data = groups[0][0]._select(given)
    families = [family_of(members, data) for members in groups]
    if data.bags.n_bags == 0:
        blocks = _blocks_of(families, given, data)
        of_blocks = [
            _errors_without_bags(members, block, folds, advance)
            for members, block in zip(groups, blocks, strict=True)
        ]
        return list(zip(*of_blocks, strict=True))
    common = Common(
        partial(_blocks_of_process, families, given, data), given.X_source, given.X_target
    )
    return in_parallel(run, _errors_of_fold, common, folds, advance)


def _blocks_of_process(
    families: list[Family], given: TrainingData, data: TrainingData
) -> list[ExactBlock]:
    """Make the blocks of some families in a process, which may be one of another machine."""
    require_memory(data, 1)
    return _blocks_of(families, given, data)


def _errors_of_fold(blocks: list[ExactBlock], fold: BagFold, task: Task) -> list[FoldErrors]:
    errors = []
    for block, cross in zip(blocks, _held_out_kernels(blocks, fold), strict=True):
        errors.append(_errors_of_block(block, fold, cross, task))
        task.advance()
    return errors


def _errors_of_block(
    block: ExactBlock, fold: BagFold, cross: NDArray[Any], task: Task
) -> FoldErrors:
    data, units = training_part(block, fold)
    gram, cross = block.gram[np.ix_(units, units)], cross[:, units]
    bags = block.given.bags[fold.test_rows]
    errors = FoldErrors.empty(block.n_settings, len(fold.test_bags))
    for chain, solved in solved_chains(block, data, gram, task.check):
        scores = solved.scores(cross)
        hard, soft = bag_errors_of(bags, scores, chain.machine, flipped=block.given.is_flipped)
        errors.hard[chain.settings], errors.soft[chain.settings] = hard.T, soft.T
        errors.converged[chain.settings] = solved.converged
    return errors


def _held_out_kernels(blocks: list[ExactBlock], fold: BagFold) -> list[NDArray[Any]]:
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
    machines: list[CoupledMachine],
    block: ExactBlock,
    folds: list[BagFold],
    advance: Callable[[], None],
) -> list[FoldErrors]:
    solutions = _solve_without_bags(block)
    scores = _scores(block, solutions, np.arange(len(block.given.bags)))
    return errors_without_bags(machines, block, scores, solutions.converged, folds, advance)


@dataclass(frozen=True)
class _Solutions:
    """Decision functions of the settings of a block: row coefficients and intercepts."""

    coefficients: Floats
    intercepts: Floats
    converged: NDArray[np.bool_]


def _solve_without_bags(block: ExactBlock) -> _Solutions:
    """Solve every setting of machines that do not learn from bags."""
    data, n_settings = block.data, block.n_settings
    n_rows = data.n_source + len(data.bags)
    solutions = _Solutions(
        coefficients=np.zeros((n_rows, n_settings)),
        intercepts=np.empty(n_settings),
        converged=np.empty(n_settings, dtype=bool),
    )
    for chain in block.chains:
        solved = _solve_chain(chain, chain.machine._problem(data, block.gram))
        for setting, coefficients in zip(chain.settings, solved.target_coefficients, strict=True):
            solutions.coefficients[:, setting] = row_coefficients(coefficients, data)
        solutions.intercepts[chain.settings] = solved.intercept_target
        solutions.converged[chain.settings] = solved.converged
    return solutions


def solved_chains(
    block: ExactBlock, data: TrainingData, gram: NDArray[Any], before: Callable[[], None]
) -> Iterator[tuple[Chain, CoupledChain]]:
    """Solve the chains of a block on a part of its data, something being done before each."""
    problems: dict[CoupledMachine, CoupledProblem] = {}
    for chain in block.chains:
        before()
        if chain.machine not in problems:
            problems[chain.machine] = chain.machine._problem(data, gram)
        yield chain, _solve_chain(chain, problems[chain.machine])


def _solve_chain(chain: Chain, problem: CoupledProblem) -> CoupledChain:
    """Solve every setting of a chain, each started from an earlier one."""
    return solve_coupled_chain(
        problem,
        chain.source_costs,
        chain.target_costs,
        chain.couplings,
        tol=chain.machine.tol,
        max_iter=chain.machine.max_iter,
    )


def _scores(block: ExactBlock, solutions: _Solutions, rows: NDArray[np.int64]) -> Floats:
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
