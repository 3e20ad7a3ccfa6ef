# SPDX-License-Identifier: BSD-3-Clause
r"""Labels that follow from overlapping counts because a label is 0 or 1.

The label of a row follows iff no labels of all rows with the released counts give it the other
value. For the number :math:`z_j` of positives in the row's cell of :math:`s_j` rows that means
:math:`z_j = 0`, or :math:`z_j = s_j`, in every solution of

.. math:: l_k \le \sum_{j \in k} z_j \le u_k, \quad 0 \le z_j \le s_j, \quad z \text{ whole}.

* Where two releases meet, solutions are flows from the bags of one to the bags of the other. Of
  one flow, an empty or full cell can change iff it is in a cycle of the residual network, that is,
  iff its two ends are in one strongly connected component: exact at any size.
* Where more meet, a list of all numbers if it is short, else integer programs: the sum of all
  cells that were empty in every solution found is maximised until it is 0, and likewise of those
  that were full. Exact, but only up to a number of cells and of nodes of the search; beyond, what
  bounds and subtraction give.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from bagshift.inspection._linear_disclosure import count_releases, edges_of
from bagshift.inspection._released_cells import (
    BoolArray,
    ContradictionError,
    IntArray,
    ReleasedCells,
    places_by_part,
    propagate_bounds,
)

FloatArray = NDArray[np.float64]

MOST_LISTED = 4096
_MOST_NODES = 500
_INFEASIBLE = 2


@dataclass(frozen=True)
class IntegerDisclosure:
    """What follows for the rows of each cell.

    Attributes
    ----------
    all_negative, all_positive : ndarray of shape (n_cells,)
        Whether every row of the cell must be so.
    is_settled : ndarray of shape (n_cells,)
        Whether that is known of the cell; False where the search was too large.
    """

    all_negative: BoolArray
    all_positive: BoolArray
    is_settled: BoolArray


def integer_determined(
    cells: ReleasedCells, values: IntArray, most_cells: int, most_listed: int = MOST_LISTED
) -> IntegerDisclosure:
    """Find the cells whose rows all have one and the same label in every solution.

    Parameters
    ----------
    cells : ReleasedCells
    values : ndarray of shape (n_cells,)
        Numbers of positives that are known to follow; -1 elsewhere.
    most_cells : int
        Up to how many cells, of a part in which more than two releases meet, are searched.
    most_listed : int
        Up to how many combinations of their numbers are listed, all of them, in place of that.

    Returns
    -------
    IntegerDisclosure

    Raises
    ------
    ContradictionError
        If there is no solution.
    """
    is_known = values >= 0
    low, high = propagate_bounds(
        cells, np.where(is_known, values, 0), np.where(is_known, values, cells.sizes)
    )
    negative, positive = high == 0, low == cells.sizes
    settled = np.ones(cells.n_cells, dtype=bool)
    n_parts, part_of_cell, part_of_bag = cells.components()
    n_releases = count_releases(cells, part_of_bag, n_parts)
    in_flow = n_releases[part_of_cell] == 2
    bag_in_flow = n_releases[part_of_bag] == 2
    if in_flow.any():
        try:
            flow = _by_flow(cells.take(in_flow, bag_in_flow))
        except ContradictionError as error:
            raise ContradictionError(np.flatnonzero(bag_in_flow)[error.bags]) from None
        negative[in_flow], positive[in_flow] = flow
    if not (n_releases > 2).any():
        return IntegerDisclosure(negative, positive, settled)
    cells_of = places_by_part(part_of_cell, n_parts)
    bags_of = places_by_part(part_of_bag, n_parts)
    incidence = cells.incidence().tocsr()
    for part in np.flatnonzero(n_releases > 2):
        places, bags = cells_of[part], bags_of[part]
        n_open = int((low[places] < high[places]).sum())
        if not n_open:
            continue
        n_listed = np.prod(high[places] - low[places] + 1.0)
        if n_open > most_cells and n_listed > most_listed:
            settled[places] = low[places] == high[places]
            continue
        solve = _by_list if n_listed <= most_listed else _by_search
        problem = _Problem(
            block=incidence[bags][:, places],
            least=cells.lowest[bags],
            most=cells.highest[bags],
            low=low[places],
            high=high[places],
            sizes=cells.sizes[places],
        )
        try:
            negative[places], positive[places], is_open = solve(problem)
        except ContradictionError:
            raise ContradictionError(bags) from None
        settled[places] = ~is_open
    return IntegerDisclosure(negative, positive, settled)


# Two releases -----------------------------------------------------------------------------


def _by_flow(cells: ReleasedCells) -> tuple[BoolArray, BoolArray]:
    """Find what no residual cycle can change; numbers of bags in errors are those of `cells`."""
    left, right = edges_of(cells)
    n_bags = cells.n_bags
    ground, without_left, without_right = n_bags, n_bags + 1, n_bags + 2
    n_nodes = n_bags + 3
    is_left = np.zeros(n_bags, dtype=bool)
    is_left[left[left >= 0]] = True
    bags = np.arange(n_bags)
    everyone = int(cells.sizes.sum())
    # From the ground through the bags of one release, the cells, and those of the other, back.
    tails = np.concatenate(
        [
            np.where(left < 0, without_left, left),
            np.where(is_left, ground, bags),
            [ground, without_right],
        ]
    )
    heads = np.concatenate(
        [
            np.where(right < 0, without_right, right),
            np.where(is_left, bags, ground),
            [without_left, ground],
        ]
    )
    least = np.concatenate([np.zeros_like(cells.sizes), cells.lowest, [0, 0]])
    most = np.concatenate([cells.sizes, cells.highest, [everyone, everyone]])
    flow = _feasible_flow(tails, heads, least, most, n_nodes)
    up, down = flow < most, flow > least
    residual = csr_array(
        (
            np.ones(int(up.sum() + down.sum()), dtype=np.int8),
            (
                np.concatenate([tails[up], heads[down]]),
                np.concatenate([heads[up], tails[down]]),
            ),
        ),
        shape=(n_nodes, n_nodes),
    )
    _, part = connected_components(residual, connection="strong")
    of_cells = slice(0, cells.n_cells)
    is_fixed = part[tails[of_cells]] != part[heads[of_cells]]
    return is_fixed & (flow[of_cells] == 0), is_fixed & (flow[of_cells] == cells.sizes)


def _feasible_flow(
    tails: IntArray, heads: IntArray, least: IntArray, most: IntArray, n_nodes: int
) -> IntArray:
    """Find a circulation between bounds: what must flow is sent, and the rest made to balance."""
    excess = np.bincount(heads, weights=least, minlength=n_nodes)
    excess = (excess - np.bincount(tails, weights=least, minlength=n_nodes)).astype(np.int64)
    source, sink = n_nodes, n_nodes + 1
    has_more, has_less = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    network = csr_array(
        (
            np.concatenate([most - least, excess[has_more], -excess[has_less]]).astype(np.int32),
            (
                np.concatenate([tails, np.full(len(has_more), source), has_less]),
                np.concatenate([heads, has_more, np.full(len(has_less), sink)]),
            ),
        ),
        shape=(n_nodes + 2, n_nodes + 2),
    )
    found = maximum_flow(network, source, sink)
    sent = found.flow
    short = np.concatenate(
        [
            has_more[_entries(sent, np.full(len(has_more), source), has_more) < excess[has_more]],
            has_less[_entries(sent, has_less, np.full(len(has_less), sink)) < -excess[has_less]],
        ]
    )
    if len(short):
        raise ContradictionError(short[short < n_nodes - 3])
    return least + _entries(sent, tails, heads)


def _entries(matrix: csr_array, rows: IntArray, columns: IntArray) -> IntArray:
    """Look entries of a sparse matrix up, 0 where there is none."""
    table = matrix.tocoo()
    n_columns = matrix.shape[1]
    keys = table.row.astype(np.int64) * n_columns + table.col
    order = np.argsort(keys)
    keys, values = np.append(keys[order], -1), np.append(table.data[order], 0)
    wanted = rows * n_columns + columns
    places = np.searchsorted(keys[:-1], wanted)
    return np.where(keys[places] == wanted, values[places], 0).astype(np.int64)


# More releases ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Problem:
    """One part: cells in bags, with the ranges of both."""

    block: csr_array
    least: IntArray
    most: IntArray
    low: IntArray
    high: IntArray
    sizes: IntArray


_Answer = tuple[BoolArray, BoolArray, BoolArray]
"""Cells that are empty, and full, in every solution; and those of which that is not known."""


def _by_list(problem: _Problem) -> _Answer:
    """Look at all numbers that are in the ranges of the cells."""
    shape = problem.high - problem.low + 1
    listed = np.array(np.unravel_index(np.arange(np.prod(shape)), shape))
    listed += problem.low[:, None]
    totals = problem.block @ listed
    fits = (totals >= problem.least[:, None]) & (totals <= problem.most[:, None])
    solutions = listed[:, fits.all(axis=0)]
    if not solutions.size:
        raise ContradictionError(np.empty(0, dtype=np.int64))
    is_open = np.zeros(len(shape), dtype=bool)
    return (
        np.asarray(solutions.max(axis=1) == 0),
        np.asarray(solutions.min(axis=1) == problem.sizes),
        is_open,
    )


def _by_search(problem: _Problem) -> _Answer:
    """Ask integer programs for a positive, or a negative, where so far there was none."""
    proven_empty, proven_full = problem.high == 0, problem.low == problem.sizes
    is_open = ~(proven_empty | proven_full)
    first = _minimise(problem, np.zeros(len(is_open)))
    if first is None:
        return proven_empty, proven_full, is_open
    empty, full = first == 0, first == problem.sizes
    empty, full, is_done = _shrink(problem, empty, full, is_open, sign=-1)
    proven_empty = empty if is_done else proven_empty
    empty, full, is_done = _shrink(problem, empty, full, is_open, sign=1)
    proven_full = full if is_done else proven_full
    return proven_empty, proven_full, (empty & ~proven_empty) | (full & ~proven_full)


def _shrink(
    problem: _Problem, empty: BoolArray, full: BoolArray, is_open: BoolArray, *, sign: int
) -> tuple[BoolArray, BoolArray, bool]:
    """Seek a positive in cells so far empty (-1), or a negative in those so far full (1).

    Returns also whether it is proven that there is none in those that are left.
    """
    while True:
        asked = (empty if sign < 0 else full) & is_open
        if not asked.any():
            return empty, full, True
        found = _minimise(problem, sign * asked.astype(np.float64))
        if found is None:
            return empty, full, False
        empty, full = empty & (found == 0), full & (found == problem.sizes)
        if not (asked & ~(empty if sign < 0 else full)).any():
            return empty, full, True


def _minimise(problem: _Problem, costs: FloatArray) -> IntArray | None:
    """Return a best solution; None if the search was not carried out to its end."""
    result = milp(
        costs,
        integrality=np.ones(len(costs)),
        bounds=Bounds(problem.low, problem.high),
        constraints=LinearConstraint(problem.block, problem.least, problem.most),
        options={"node_limit": _MOST_NODES},
    )
    if result.status == _INFEASIBLE:
        raise ContradictionError(np.empty(0, dtype=np.int64))
    if result.status != 0 or result.x is None or result.fun - result.mip_dual_bound >= 0.5:
        return None
    found: IntArray = np.rint(result.x).astype(np.int64)
    totals = np.rint(problem.block @ found)
    is_right = ((totals >= problem.least) & (totals <= problem.most)).all()
    return found if is_right else None
