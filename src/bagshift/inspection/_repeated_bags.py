# SPDX-License-Identifier: BSD-3-Clause
"""Bags whose individuals are those of other bags: unions, subtotals, duplicates.

Individuals of such bags count twice, and their labels with them. They are found by their numbers
(size and count are the sums of those of other bags: of all, or of a run of bags next to it, as
subtotals stand in tables) and, where features are given, by their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.stats import poisson

from bagshift._bags.totals import is_named_total, is_sum_of_others
from bagshift.bags import Bags

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BY_CHANCE = 0.01
_MOST_BAGS_PER_ROW = 20
_FEWEST_ROWS = 2


@dataclass(frozen=True)
class Repetition:
    """A bag that repeats others.

    Attributes
    ----------
    bag : int
        Its place in the bag table.
    parts : tuple of int
        The bags it is made of; one for a duplicate.
    by_rows : bool
        Whether rows were compared, or numbers only.
    """

    bag: int
    parts: tuple[int, ...]
    by_rows: bool


# By size and count ------------------------------------------------------------------------


def sums_of_bags(bags: Bags) -> list[Repetition]:
    """Find bags whose size and count are the sums of those of other bags.

    Runs that match are reported if so many would hardly match by chance, or if the bag is named
    like a total.

    Parameters
    ----------
    bags : Bags

    Returns
    -------
    list of Repetition
    """
    sizes = np.rint(bags.sizes).astype(np.int64)
    counts = bags.positive_shares * bags.sizes
    exact = ~bags.is_noisy
    if bags.n_bags < 3 or not exact.all():
        return []
    everyone = is_sum_of_others(bags.sizes) & is_sum_of_others(np.rint(counts))
    found = {
        int(bag): tuple(np.delete(np.arange(bags.n_bags), bag).tolist())
        for bag in np.flatnonzero(everyone & (counts > 0))[:1]
    }
    for is_after in (False, True):
        for bag, parts in _matching_runs(bags, sizes, counts, is_after):
            found.setdefault(bag, parts)
    return [Repetition(bag, parts, by_rows=False) for bag, parts in sorted(found.items())]


def _matching_runs(
    bags: Bags, sizes: IntArray, counts: FloatArray, is_after: bool
) -> list[tuple[int, tuple[int, ...]]]:
    """Find the bags whose numbers are those of a run of bags before, or after, them."""
    overall = float(counts.sum() / sizes.sum())
    one = max(overall * (1 - overall), 1e-9)
    found, n_by_chance = [], 0.0
    for bag, parts in _runs_of_size(sizes, is_after):
        # The count of so many individuals agrees by chance as often as its law is high.
        n_by_chance += 1 / max(np.sqrt(2 * np.pi * sizes[bag] * one), 1.0)
        is_mixed = 0 < counts[bag] < sizes[bag]
        if is_mixed and abs(counts[bag] - counts[list(parts)].sum()) < 0.5:
            found.append((bag, parts))
    if poisson.sf(len(found) - 1, n_by_chance) < _BY_CHANCE:
        return found
    return [(bag, parts) for bag, parts in found if is_named_total(bags.ids[bag])]


def _runs_of_size(sizes: IntArray, is_after: bool) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield bags with the run of at least two bags next to them that is of the same size."""
    borders = np.concatenate([[0], np.cumsum(sizes)])
    place_of = {int(border): place for place, border in enumerate(borders)}
    for bag, size in enumerate(sizes.tolist()):
        if is_after:
            first, last = bag + 1, place_of.get(int(borders[bag + 1]) + size, -1)
        else:
            first, last = place_of.get(int(borders[bag]) - size, bag), bag
        if last - first > 1:
            yield bag, tuple(range(first, last))


# By rows ----------------------------------------------------------------------------------


def unions_of_rows(bags: Bags, X: Any) -> list[Repetition]:
    """Find bags whose rows are those of other bags.

    Only rows that occur in few bags tell anything.

    Parameters
    ----------
    bags : Bags
    X : ndarray or CSR matrix of shape (n_rows, n_features)

    Returns
    -------
    list of Repetition
    """
    rows = bags.rows_in_bags()
    _, codes = np.unique(_row_hashes(X[rows]), return_inverse=True)
    pairs = np.unique(np.column_stack([bags.bag_index[rows], codes]), axis=0)
    n_codes = np.bincount(pairs[:, 0], minlength=bags.n_bags)
    n_bags_with = np.bincount(pairs[:, 1])
    shared = pairs[
        (n_bags_with[pairs[:, 1]] > 1) & (n_bags_with[pairs[:, 1]] <= _MOST_BAGS_PER_ROW)
    ]
    table = csr_array(
        (np.ones(len(shared), dtype=np.int64), (shared[:, 0], shared[:, 1])),
        shape=(bags.n_bags, len(n_bags_with)),
    )
    common = (table @ table.T).tocoo()
    inside = (
        (common.row != common.col)
        & (common.data == n_codes[common.row])
        & (n_codes[common.row] >= _FEWEST_ROWS)
    )
    parts_of: dict[int, list[int]] = {}
    for part, whole in zip(common.row[inside].tolist(), common.col[inside].tolist(), strict=True):
        parts_of.setdefault(whole, []).append(part)
    return [
        Repetition(whole, tuple(sorted(parts)), by_rows=True)
        for whole, parts in sorted(parts_of.items())
        if _is_repeated(table, n_codes, whole, parts)
    ]


def _is_repeated(table: csr_array, n_codes: IntArray, whole: int, parts: list[int]) -> bool:
    """Whether the parts cover the bag; of two equal ones the later repeats the earlier."""
    equal = [part for part in parts if n_codes[part] == n_codes[whole]]
    if equal:
        parts[:] = [part for part in equal if part < whole]
        return bool(parts)
    covered = np.unique(table[sorted(parts)].indices)
    return bool(len(covered) == n_codes[whole])


def _row_hashes(X: Any) -> NDArray[np.uint64]:
    """Return a number per row that equal rows share; zeros of sparse rows add nothing."""
    n_rows, n_columns = X.shape
    salts = np.random.default_rng(0).integers(1, 2**64, size=n_columns, dtype=np.uint64)
    if not issparse(X):
        found = np.zeros(n_rows, dtype=np.uint64)
        for column, salt in enumerate(salts):
            values = np.ascontiguousarray(X[:, column], dtype=np.float64)
            found += np.where(values == 0, np.uint64(0), _mix(values.view(np.uint64) ^ salt))
        return found
    table = csr_array(X, dtype=np.float64)
    mixed = _mix(np.ascontiguousarray(table.data).view(np.uint64) ^ salts[table.indices])
    mixed[table.data == 0] = 0
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[table.indptr[1:]] - sums[table.indptr[:-1]])


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter bits (the finaliser of SplitMix64), so that sums of them meet by chance only."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
