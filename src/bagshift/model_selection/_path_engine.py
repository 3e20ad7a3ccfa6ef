# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validated share errors of many settings of one kernel machine.

What settings have in common is computed once: the kernel matrix of all units for each kernel, of
which every fold takes its rows and columns. Within a fold, settings that differ in costs and
coupling alone form chains that are solved from one another: along the coupling the last solution
is still feasible; from (C_source, C_target) to a common multiple of both, so is its multiple.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from bagshift.estimators._coupled import CoupledMachine, finite_gram, row_coefficients
from bagshift.estimators._training import TrainingData
from bagshift.estimators.source_svm import threshold_for
from bagshift.kernels import Kernel, decision_values
from bagshift.model_selection._folds import BagFold
from bagshift.model_selection.scorers import share_errors_of
from bagshift.solvers import CoupledResult, solve_coupled

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

_KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0")
_COSTS = ("C", "C_source", "C_target")


@dataclass(frozen=True)
class FoldErrors:
    """Errors of every setting on every fold.

    Attributes
    ----------
    hard, soft : ndarray of shape (n_settings, n_folds)
        Share error and soft share error on the held-out bags.
    converged : ndarray of shape (n_settings, n_folds), bool
        Whether the solver reached its tolerance.
    """

    hard: Floats
    soft: Floats
    converged: NDArray[np.bool_]


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


@dataclass(frozen=True)
class _Solutions:
    """Decision functions of the settings of a block: row coefficients and intercepts."""

    coefficients: Floats
    intercepts: Floats
    converged: NDArray[np.bool_]


def cross_validate_settings(
    machines: list[CoupledMachine],
    given: TrainingData,
    folds: list[BagFold],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> FoldErrors:
    """Return the errors of machines of one type on held-out bags.

    Parameters
    ----------
    machines : list of CoupledMachine
        One per setting, unfitted.
    given : TrainingData
        All training data, as ``fit`` would read them.
    folds : list of BagFold
    n_jobs : int, optional
        Folds worked on at the same time, in threads.
    progress : callable, optional
        Called with the number of folds done and the number of all, over all kernels.

    Returns
    -------
    FoldErrors

    Raises
    ------
    KernelMemoryError
        When a kernel matrix would not fit into memory.
    """
    shape = len(machines), len(folds)
    errors = FoldErrors(np.empty(shape), np.empty(shape), np.empty(shape, dtype=bool))
    blocks = _group(range(len(machines)), lambda i: _parameters(machines[i], _KERNEL_PARAMETERS))
    advance = _counter(progress, len(blocks) * len(folds))
    for members in blocks:
        # Made in the call, so that one kernel matrix is gone before the next is made.
        of_folds = _errors_of_block(
            _make_block([machines[i] for i in members], given), folds, n_jobs, advance
        )
        for name in ("hard", "soft", "converged"):
            getattr(errors, name)[members] = np.stack([e[name] for e in of_folds], axis=1)
    return errors


def _make_block(machines: list[CoupledMachine], given: TrainingData) -> _Block:
    data = machines[0]._select(given)
    kernel = machines[0]._kernel(data)
    return _Block(machines, given, data, kernel, finite_gram(kernel, data))


def _errors_of_block(
    block: _Block, folds: list[BagFold], n_jobs: int | None, advance: Callable[[], None]
) -> list[dict[str, Any]]:
    if block.data.bags.n_bags == 0:
        # Bags are not learned from, so one solution serves every fold.
        n_rows = len(block.data.bags)
        solutions = _solve_chains(
            block.machines, block.data, block.gram, np.arange(n_rows), n_rows
        )
        scores = _scores(block, solutions, np.arange(len(block.given.bags)))
        return [_errors_without_bags(block, fold, solutions, scores, advance) for fold in folds]
    work = Parallel(n_jobs=n_jobs, prefer="threads")
    return list(work(delayed(_errors_of_fold)(block, fold, advance) for fold in folds))


def _errors_of_fold(block: _Block, fold: BagFold, advance: Callable[[], None]) -> dict[str, Any]:
    data, gram = _training_part(block, fold)
    solutions = _solve_chains(block.machines, data, gram, fold.train_rows, len(block.data.bags))
    scores = _scores(block, solutions, fold.test_rows)
    advance()
    return _errors(block, fold, solutions, scores)


def _errors_without_bags(
    block: _Block,
    fold: BagFold,
    solutions: _Solutions,
    scores: Floats,
    advance: Callable[[], None],
) -> dict[str, Any]:
    held_out = scores[fold.test_rows]
    for setting, machine in enumerate(block.machines):
        if getattr(machine, "threshold", None) == "prior":
            held_out[:, setting] -= _prior_threshold(block, fold, scores[:, setting])
    advance()
    return _errors(block, fold, solutions, held_out)


def _prior_threshold(block: _Block, fold: BagFold, scores: Floats) -> float:
    """Return the threshold of SourceSVM for the overall share of the training bags."""
    bags = block.given.bags[fold.train_rows]
    shares = replace(block.given, bags=bags).shares
    n_positive = round(float(shares @ bags.rows_per_bag))
    return threshold_for(scores[fold.train_rows[bags.rows_in_bags()]], n_positive)


def _errors(block: _Block, fold: BagFold, solutions: _Solutions, scores: Floats) -> dict[str, Any]:
    bags = block.given.bags[fold.test_rows]
    errors = [
        share_errors_of(bags, column, machine, flipped=block.given.is_flipped)
        for machine, column in zip(block.machines, scores.T, strict=True)
    ]
    hard, soft = zip(*errors, strict=True)
    return {"hard": hard, "soft": soft, "converged": solutions.converged}


def _training_part(block: _Block, fold: BagFold) -> tuple[TrainingData, NDArray[Any]]:
    """Return training data and kernel matrix of a fold; rows in no bag are in every fold."""
    bags = block.data.bags[fold.train_rows]
    # The problem is stated in units, so the fold's rows themselves are not needed.
    data = replace(
        block.data, X_target=None, bags=bags, labelled_rows=np.flatnonzero(bags.has_label)
    )
    n_source, n_bags = block.data.n_source, block.data.bags.n_bags
    labelled = np.arange(n_source + n_bags, len(block.gram))
    units = np.concatenate([np.arange(n_source), n_source + fold.train_bags, labelled])
    return data, block.gram[np.ix_(units, units)]


def _solve_chains(
    machines: list[CoupledMachine],
    data: TrainingData,
    gram: NDArray[Any],
    target_rows: NDArray[np.int64],
    n_target: int,
) -> _Solutions:
    """Solve every setting; `target_rows` are the rows of `data` among all `n_target` rows."""
    rows = np.concatenate([np.arange(data.n_source), data.n_source + target_rows])
    solutions = _Solutions(
        coefficients=np.zeros((data.n_source + n_target, len(machines))),
        intercepts=np.empty(len(machines)),
        converged=np.empty(len(machines), dtype=bool),
    )
    for chain in _chains(machines):
        for setting, result in _solve_chain(machines, chain, data, gram):
            coefficients = row_coefficients(result.target_coefficients, data)
            solutions.coefficients[rows, setting] = coefficients
            solutions.intercepts[setting] = result.intercept_target
            solutions.converged[setting] = result.converged
    return solutions


def _chains(machines: list[CoupledMachine]) -> list[list[int]]:
    """Order settings into chains: same ratio of costs, growing costs, coupling innermost."""

    def link(setting: int) -> tuple[Any, ...]:
        machine = machines[setting]
        others = [p for p in machine.get_params(deep=False) if p not in (*_COSTS, "coupling")]
        costs = _costs(machine)
        ratios = np.round(costs / costs.max(), 12) if costs.max() > 0 else costs
        return (*_parameters(machine, others), *ratios)

    chains = _group(range(len(machines)), link)
    for chain in chains:
        chain.sort(key=lambda i: (_costs(machines[i]).max(), getattr(machines[i], "coupling", 0)))
    return chains


def _solve_chain(
    machines: list[CoupledMachine], chain: list[int], data: TrainingData, gram: NDArray[Any]
) -> Iterator[tuple[int, CoupledResult]]:
    """Yield the solution of every setting of a chain, each started from an earlier one."""
    cost, start, first_of_cost = 0.0, None, None
    for setting in chain:
        machine = machines[setting]
        own_cost = float(_costs(machine).max())
        is_first = own_cost != cost
        if is_first and first_of_cost is not None:
            start = own_cost / cost * first_of_cost
        result = solve_coupled(
            machine._problem(data, gram), tol=machine.tol, max_iter=machine.max_iter, start=start
        )
        cost, start = own_cost, result.dual
        if is_first:
            first_of_cost = result.dual
        yield setting, result


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


def _costs(machine: CoupledMachine) -> Floats:
    return np.array([getattr(machine, name) for name in _COSTS if hasattr(machine, name)])


def _parameters(machine: CoupledMachine, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(machine, name) for name in names)


def _group(items: Iterable[int], key: Callable[[int], Any]) -> list[list[int]]:
    groups: dict[Any, list[int]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return list(groups.values())


def _counter(progress: Progress | None, total: int) -> Callable[[], None]:
    """Return a function that reports one more piece of work done, from any thread."""
    lock = threading.Lock()
    done = 0

    def advance() -> None:
        nonlocal done
        with lock:
            done += 1
            if progress is not None:
                progress(done, total)

    return advance
