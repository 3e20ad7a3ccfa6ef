# SPDX-License-Identifier: BSD-3-Clause
r"""Labels that follow from overlapping counts by adding and subtracting alone.

With the incidence :math:`A` of bags and cells and exact counts :math:`c = Az`, the number of
cell :math:`j` follows iff :math:`e_j` is in the row space of :math:`A`, that is, iff every vector
of the null space is zero at :math:`j`. Columns of rows in one cell are equal, so that a single
label follows in cells of one row only.

* Where two releases meet, bags are the nodes of a graph and cells its edges; cells that only one
  of the two has a bag for end in a common further node. The null space is that of the cycles, so
  that bridges follow. Each edge outside a spanning tree gets a random number of 64 bits, and the
  edges of its cycle are marked with it by exclusive or: edges with the mark 0 are bridges, but for
  a chance of :math:`2^{-64}`.
* Where more meet, elimination with whole numbers modulo :math:`2^{31}-1`. It errs only if that
  prime divides a minor of :math:`A`.
* Where these are too large for elimination, projections of random vectors onto the null space by
  least squares; what is smaller than :math:`10^{-6}` counts as zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import lsmr

from bagshift.inspection._released_cells import (
    BoolArray,
    IntArray,
    ReleasedCells,
    places_by_part,
)

FloatArray = NDArray[np.float64]

PRIME = 2**31 - 1
MOST_STEPS_OF_ELIMINATION = 3e8
_N_PROJECTIONS = 3
_ZERO = 1e-6
_NEARLY_WHOLE = 1e-3


def linearly_determined(
    cells: ReleasedCells, *, most_steps: float = MOST_STEPS_OF_ELIMINATION
) -> tuple[BoolArray, IntArray]:
    """Find the cells whose number of positives is a combination of the exact counts.

    Parameters
    ----------
    cells : ReleasedCells
    most_steps : float
        Bags squared times cells, up to which elimination is used.

    Returns
    -------
    is_determined : ndarray of shape (n_cells,)
    values : ndarray of shape (n_cells,)
        The numbers that follow where more than two releases meet; -1 elsewhere.
    """
    found = np.zeros(cells.n_cells, dtype=bool)
    values = np.full(cells.n_cells, -1, dtype=np.int64)
    if not cells.n_cells:
        return found, values
    counted = cells.take(np.ones(cells.n_cells, dtype=bool), cells.is_exact)
    n_parts, part_of_cell, part_of_bag = counted.components()
    n_releases = count_releases(counted, part_of_bag, n_parts)
    in_graph = n_releases[part_of_cell] <= 2
    found[in_graph] = _bridges(counted.take(in_graph, n_releases[part_of_bag] <= 2))
    if in_graph.all():
        return found, values
    cells_of = places_by_part(part_of_cell, n_parts)
    bags_of = places_by_part(part_of_bag, n_parts)
    incidence = counted.incidence().tocsr()
    for part in np.flatnonzero(n_releases > 2):
        places, bags = cells_of[part], bags_of[part]
        block = incidence[bags][:, places]
        n_bags, n_cells = block.shape
        solve = _eliminate if n_bags**2 * n_cells <= most_steps else _project
        follows = solve(block)
        if follows.any():
            solution = _least_squares(block, counted.lowest[bags].astype(np.float64))
            follows &= np.abs(solution - np.rint(solution)) < _NEARLY_WHOLE
            values[places[follows]] = np.rint(solution[follows])
        found[places] = follows
    return found, values


def count_releases(cells: ReleasedCells, part_of_bag: IntArray, n_parts: int) -> IntArray:
    """Count the releases that meet in each part."""
    pairs = np.unique(np.column_stack([part_of_bag, cells.release_of_bag]), axis=0)
    return np.bincount(pairs[:, 0], minlength=n_parts).astype(np.int64)


def edges_of(cells: ReleasedCells) -> tuple[IntArray, IntArray]:
    """Return two bags of each cell that lie in at most two releases that meet; -1 for none.

    The first is that of the release that comes first among those of its part.
    """
    n_parts, part_of_cell, part_of_bag = cells.components()
    first_release = np.full(n_parts, cells.release_of_bag.max(initial=0) + 1)
    np.minimum.at(first_release, part_of_bag, cells.release_of_bag)
    left = np.full(cells.n_cells, -1, dtype=np.int64)
    right = left.copy()
    cell, bag = cells.pairs()
    is_left = cells.release_of_bag[bag] == first_release[part_of_cell[cell]]
    left[cell[is_left]] = bag[is_left]
    right[cell[~is_left]] = bag[~is_left]
    return left, right


def _bridges(cells: ReleasedCells) -> BoolArray:
    """Find the edges that are in no cycle."""
    if not cells.n_cells:
        return np.zeros(0, dtype=bool)
    left, right = edges_of(cells)
    outside, root = cells.n_bags, cells.n_bags + 1
    left, right = (np.where(ends < 0, outside, ends) for ends in (left, right))
    # A cell that no exact bag contains is a loop at the node outside, and cells that are told
    # apart by inexact bags alone are parallel edges: these are cycles already.
    _, edge, n_parallel = np.unique(
        left * (root + 1) + right, return_inverse=True, return_counts=True
    )
    is_alone = (left != right) & (n_parallel[edge] == 1)
    ones = np.ones(len(left), dtype=np.int8)
    graph = csr_array((ones, (left, right)), shape=(root + 1, root + 1))
    _, part = connected_components(graph, directed=False)
    heads = np.unique(part[:root], return_index=True)[1]  # one node of each part hangs at the root
    to_root = csr_array((np.ones(len(heads), dtype=np.int8), (heads, np.full(len(heads), root))))
    to_root.resize(graph.shape)
    order, parent = breadth_first_order(graph + to_root, root, directed=False)
    in_tree = (parent[left] == right) | (parent[right] == left)
    marks = np.zeros(root + 1, dtype=np.uint64)
    random = np.random.default_rng(0).integers(1, 2**64, size=len(left), dtype=np.uint64)
    cycle = np.where(in_tree | (left == right), np.uint64(0), random)
    np.bitwise_xor.at(marks, left, cycle)
    np.bitwise_xor.at(marks, right, cycle)
    summed = marks.tolist()
    parents = parent.tolist()
    for node in order[:0:-1].tolist():
        summed[parents[node]] ^= summed[node]
    below = np.where(parent[left] == right, left, right)
    mark_of_tree_edge = np.array(summed, dtype=np.uint64)[below]
    return np.asarray(in_tree & is_alone & (mark_of_tree_edge == 0))


def _eliminate(block: csr_array) -> BoolArray:
    """Find unit vectors in the row space by elimination with remainders."""
    rows = block.toarray().astype(np.int64)
    n_bags, n_cells = rows.shape
    pivots: list[int] = []
    for cell in range(n_cells):
        rank = len(pivots)
        candidates = np.flatnonzero(rows[rank:, cell])
        if not len(candidates):
            continue
        place = rank + candidates[0]
        rows[[rank, place]] = rows[[place, rank]]
        rows[rank] = rows[rank] * pow(int(rows[rank, cell]), -1, PRIME) % PRIME
        others = np.flatnonzero(rows[:, cell])
        others = others[others != rank]
        rows[others] = (rows[others] - rows[others, cell, None] * rows[rank]) % PRIME
        pivots.append(cell)
        if len(pivots) == n_bags:
            break
    alone = np.count_nonzero(rows[: len(pivots)], axis=1) == 1
    found = np.zeros(n_cells, dtype=bool)
    found[np.array(pivots, dtype=np.int64)[alone]] = True
    return found


def _project(block: csr_array) -> BoolArray:
    """Find where random vectors of the null space are zero."""
    random = np.random.default_rng(0)
    found = np.ones(block.shape[1], dtype=bool)
    for _ in range(_N_PROJECTIONS):
        vector = random.standard_normal(block.shape[1])
        found &= np.abs(vector - _least_squares(block, block @ vector)) < _ZERO
    return found


def _least_squares(block: csr_array, totals: FloatArray) -> FloatArray:
    """Return the smallest numbers of cells that have the totals; NaN if they are not found."""
    solution, status, *_ = lsmr(
        block, totals, atol=1e-14, btol=1e-14, conlim=1e12, maxiter=20 * min(block.shape) + 100
    )
    # With a status of 3, 6 or 7 it has given up; what is not known is not claimed.
    return np.full(block.shape[1], np.nan) if status in (3, 6, 7) else np.asarray(solution)
