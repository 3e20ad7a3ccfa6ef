# SPDX-License-Identifier: BSD-3-Clause
"""The count-likelihood machine fitted on rows in files, by passes.

Where to begin, and which of several ends to take, is found on a sample of whole bags and source
rows in memory, whose costs stand for all; see :mod:`bagshift.estimators._count_starts`. One search
over all rows goes on from there.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.count_weights import assemble, weigh_counts
from bagshift._bags.noise_column import places_by_law
from bagshift.estimators._count_starts import End, best_end, starts_of, warn_about
from bagshift.estimators._feature_space import ColumnScale, FeatureSpace
from bagshift.estimators._mapped_rows import MappedRows, SampledMap
from bagshift.estimators._stored_data import StoredBags, StoredData
from bagshift.estimators._stored_units import Record, store_columns
from bagshift.estimators.count_likelihood import CountLikelihoodClassifier
from bagshift.exceptions import BagError, plural
from bagshift.kernels import Kernel
from bagshift.noise import NEAREST_COUNT
from bagshift.solvers import BagCounts, CoupledLogisticProblem, solve_coupled_logistic
from bagshift.solvers._chunks import threads
from bagshift.solvers.count_passes import Passes, RowPasses
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.coupled_logistic import solve_coupled_logistic_passes

Floats = NDArray[np.float64]

# Rows that a start is looked for on.
SAMPLED_ROWS = 100_000

_LINEAR = FeatureSpace(Kernel("linear"), None)


@dataclass(frozen=True, eq=False)
class _Sampled:
    """What the search for a start asks of sampled bags."""

    counts: BagCounts
    shares: Floats
    is_labelled: bool


def fit_stored_counts(
    machine: CountLikelihoodClassifier,
    data: StoredData,
    *,
    record: Record[Passes] = lambda passes, domain: passes,
    mapped: SampledMap | None = None,
    n_threads: int = 1,
) -> CountLikelihoodClassifier:
    """Fit the machine on rows bag by bag, and history, in files.

    Parameters
    ----------
    machine : CountLikelihoodClassifier
        Fitted in place.
    data : StoredData
        With the rows of its target bag by bag, in columns of one scale.
    record : callable, optional
        Keeps what passes answer; see :mod:`bagshift.solvers.recorded_passes`.
    mapped : SampledMap, optional
        The map of the kernel, where it is not linear; it goes over rows as they are read.
    n_threads : int, default=1
        The result does not depend on it.

    Returns
    -------
    CountLikelihoodClassifier
        The machine.

    Raises
    ------
    BagError
        When no whole count fits the share of a bag.

    Warns
    -----
    ConvergenceWarning, ReversedScoresWarning
        As the machine warns otherwise.
    """
    machine._check_parameters()
    machine._check_learnable(data)  # type: ignore[arg-type]
    orientation = -1.0 if data.is_flipped else 1.0
    costs = np.broadcast_to(machine.C_target, data.bags.n_bags)

    def features(rows: Any) -> Any:
        return rows if mapped is None else MappedRows(rows, mapped.space)

    target = CountedRows(features(data.X_target), counts_of(data.bags), costs)
    source = None
    if data.n_source:
        costs = np.broadcast_to(machine.C_source, data.n_source)
        source = LabelledRows(features(data.X_source), orientation * data.source_signs, costs)
    with threads(n_threads) as pool:
        return fit_count_passes(
            machine,
            data,
            None if source is None else record(RowPasses(source, pool), "source"),
            record(RowPasses(target, pool), "target"),
            mapped=mapped,
            executor=pool,
        )


def fit_count_passes(
    machine: CountLikelihoodClassifier,
    data: StoredData,
    source: Passes | None,
    target: Passes,
    *,
    scale: ColumnScale | None = None,
    mapped: SampledMap | None = None,
    executor: Executor | None = None,
) -> CountLikelihoodClassifier:
    """Fit the machine by passes over its rows, wherever they lie.

    Parameters
    ----------
    machine : CountLikelihoodClassifier
        Fitted in place.
    data : StoredData
        Its rows are not looked at.
    source, target : Passes or None
    scale : ColumnScale, optional
        How the columns of these rows were standardised.
    mapped : SampledMap, optional
        What the features of the rows are, where they are not the columns.
    executor : Executor, optional
        Whose threads go over a sample.

    Returns
    -------
    CountLikelihoodClassifier
        The machine.

    Warns
    -----
    ConvergenceWarning, ReversedScoresWarning
        As the machine warns otherwise.
    """
    begin = _begin(machine, source, target)
    result = solve_coupled_logistic_passes(
        source,
        target,
        float(machine.coupling),
        start=begin.result.machines,
        tol=machine.tol,
        max_iter=machine.max_iter,
        executor=executor,
    )
    end = replace(begin, result=result)
    orientation = -1.0 if data.is_flipped else 1.0
    space = _LINEAR if mapped is None else mapped.space
    store_columns(machine, target.n_features if mapped is None else mapped.n_columns)
    if mapped is not None:
        data = mapped.described(data)
    machine._store(data, orientation, space, scale, end)  # type: ignore[arg-type]
    warn_about(end, has_source=source is not None and machine.C_source > 0)
    return machine


def counts_of(bags: StoredBags) -> BagCounts:
    """Weigh the counts of bags by their laws; without one, those nearest to the share.

    Parameters
    ----------
    bags : StoredBags

    Returns
    -------
    BagCounts

    Raises
    ------
    BagError
        When no whole count fits the share of a bag.
    """
    shares, sizes, n_rows = bags.positive_shares, bags.sizes, bags.rows_per_bag
    if bags.noise is None:
        found = weigh_counts(NEAREST_COUNT, shares, sizes, n_rows)
    else:
        found = assemble(
            (
                (some, weigh_counts(law or NEAREST_COUNT, shares[some], sizes[some], n_rows[some]))
                for law, some in places_by_law(bags.noise).items()
            ),
            bags.n_bags,
        )
    n_misfits = int((found.lengths == 0).sum())
    if n_misfits:
        raise BagError(
            f"No whole count fits the share of {plural(n_misfits, 'bag')}; declare the true sizes"
            f"{'.' if bags.noise is None else ', or correct the law in noise=.'}"
        )
    starts = np.concatenate([[0], np.cumsum(bags.rows_per_bag)])
    return BagCounts(starts, found.first_counts, found.weight_starts, found.log_weights)


def _begin(machine: CountLikelihoodClassifier, source: Passes | None, target: Passes) -> End:
    """Return the best end of the starts on a sample."""
    n_rows = target.n_rows + (0 if source is None else source.n_rows)
    part = min(1.0, SAMPLED_ROWS / n_rows)
    rows: Any = None if source is None else source.sample(part)
    bags: Any = target.sample(part)
    while bags is None:  # as large as the sample, each of them
        part = min(1.0, 2.0 * part)
        bags = target.sample(part)
    n_features = target.n_features
    problem = CoupledLogisticProblem(
        source_features=np.empty((0, n_features)) if rows is None else rows.features,
        source_signs=np.empty(0) if rows is None else rows.signs,
        source_costs=np.empty(0) if rows is None else rows.costs,
        target_features=np.asarray(bags.features),
        counts=bags.counts,
        bag_costs=bags.bag_costs,
        coupling=float(machine.coupling),
    )
    units = _Sampled(bags.counts, _expected_shares(bags.counts), False)
    starts = starts_of(machine, problem, units)  # type: ignore[arg-type]
    return best_end(
        problem,
        starts,
        lambda part, start, loosest: solve_coupled_logistic(
            part, start=start, tol=max(machine.tol, loosest), max_iter=machine.max_iter
        ),
    )


def _expected_shares(counts: BagCounts) -> Floats:
    """Return the mean share of every bag under what is published about it."""
    lengths = np.diff(counts.weight_starts)
    bag = np.repeat(np.arange(counts.n_bags), lengths)
    place = np.arange(len(bag)) - np.repeat(counts.weight_starts[:-1], lengths)
    weights = np.exp(counts.log_weights)
    number = counts.first_counts[bag] + place
    mean = np.bincount(bag, weights * number) / np.bincount(bag, weights)
    return np.clip(mean / counts.sizes, 0.0, 1.0)
