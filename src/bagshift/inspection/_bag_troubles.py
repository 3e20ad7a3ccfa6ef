# SPDX-License-Identifier: BSD-3-Clause
"""Bags with which something is wrong, by what it is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.near_misses import near_identical
from bagshift._bags.table import Dropped
from bagshift._bags.totals import is_named_total
from bagshift.bags import Bags
from bagshift.inspection._repeated_bags import sums_of_bags, unions_of_rows

Ids = tuple[Hashable, ...]

_HUGE_PART = 0.5
_HUGE_TIMES = 100
_ENOUGH_BAGS = 3


@dataclass(frozen=True)
class Troubles:
    """Ids of bags, by what is wrong with them.

    Attributes
    ----------
    unions : tuple of (id, tuple of ids)
        Bags that have the rows, or the size and count, of other bags together, and these.
    duplicates : tuple of (id, id)
        Bags that have the rows of one other bag, and this one.
    totals : tuple
        Bags named like a total.
    near_identical : tuple of tuple
        Groups of ids that differ in type or spelling only.
    pure : tuple
        Bags whose exact share is 0 or 1.
    single : tuple
        Bags of one row.
    huge : tuple
        Bags with more than half of all individuals, or a hundred times the median size.
    without_rows : tuple
        Ids that had a share but no row, and were dropped.
    without_share : tuple
        Ids of rows that had no share, and were dropped.
    """

    unions: tuple[tuple[Hashable, Ids], ...] = ()
    duplicates: tuple[tuple[Hashable, Hashable], ...] = ()
    totals: Ids = ()
    near_identical: tuple[Ids, ...] = ()
    pure: Ids = ()
    single: Ids = ()
    huge: Ids = ()
    without_rows: Ids = ()
    without_share: Ids = ()

    def by_bag(self, ids: NDArray[np.object_]) -> list[str]:
        """Write the troubles of each bag, separated by commas.

        Parameters
        ----------
        ids : ndarray of shape (n_bags,)

        Returns
        -------
        list of str
        """
        words: dict[Hashable, list[str]] = {}
        for name, concerned in (
            ("union", [bag for bag, _ in self.unions]),
            ("duplicate", [bag for bag, _ in self.duplicates]),
            ("total", self.totals),
            ("near-identical id", [bag for group in self.near_identical for bag in group]),
            ("pure", self.pure),
            ("single row", self.single),
            ("huge", self.huge),
        ):
            for bag in concerned:
                words.setdefault(bag, []).append(name)
        return [", ".join(words.get(bag, [])) for bag in ids]

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return any(getattr(self, part.name) for part in fields(self))


def find_troubles(bags: Bags, X: Any = None) -> Troubles:
    """Look for troubles.

    Parameters
    ----------
    bags : Bags
    X : ndarray or CSR matrix of shape (n_rows, n_features), optional

    Returns
    -------
    Troubles
    """
    repeated = sums_of_bags(bags)
    if X is not None:
        by_rows = unions_of_rows(bags, X)
        known = {repetition.bag for repetition in by_rows}
        repeated = by_rows + [one for one in repeated if one.bag not in known]
    shares = bags.positive_shares
    is_pure = ((shares == 0) | (shares == 1)) & ~bags.is_noisy
    dropped: Dropped = bags.dropped
    return Troubles(
        unions=tuple(
            (bags.ids[one.bag], _ids(bags, one.parts)) for one in repeated if len(one.parts) > 1
        ),
        duplicates=tuple(
            (bags.ids[one.bag], bags.ids[one.parts[0]]) for one in repeated if len(one.parts) == 1
        ),
        totals=tuple(bag for bag in bags.ids if is_named_total(bag)),
        near_identical=tuple(map(tuple, near_identical(bags.ids.tolist()))),
        pure=tuple(bags.ids[is_pure]),
        single=tuple(bags.ids[bags.rows_per_bag == 1]),
        huge=tuple(bags.ids[_is_huge(bags.sizes)]),
        without_rows=dropped.bags_without_rows,
        without_share=dropped.bags_without_share,
    )


def _ids(bags: Bags, repetition: tuple[int, ...]) -> Ids:
    return tuple(bags.ids[list(repetition)])


def _is_huge(sizes: NDArray[np.float64]) -> NDArray[np.bool_]:
    if len(sizes) < _ENOUGH_BAGS:
        return np.zeros(len(sizes), dtype=bool)
    is_most = sizes > _HUGE_PART * sizes.sum()
    return np.asarray(is_most | (sizes > _HUGE_TIMES * np.median(sizes)))
