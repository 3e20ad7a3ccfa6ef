# SPDX-License-Identifier: BSD-3-Clause
"""Releases about the same rows: their names, and what they say of cells of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bagshift.bags import Bags
from bagshift.exceptions import BagError, name_bags, plural
from bagshift.inspection._released_cells import (
    ContradictionError,
    IntArray,
    ReleasedCells,
    cut_into_cells,
)


def name_releases(releases: Any) -> dict[str, Bags]:
    """Give every release a name, and refuse what is not about the same rows.

    Parameters
    ----------
    releases : Bags, or sequence or mapping of Bags

    Returns
    -------
    dict of str to Bags
        Without those that have no bag.
    """
    if isinstance(releases, Bags):
        named = {"release": releases}
    elif isinstance(releases, Mapping):
        named = {str(name): bags for name, bags in releases.items()}
    elif isinstance(releases, Sequence) and not isinstance(releases, str | bytes):
        named = {f"release {number}": bags for number, bags in enumerate(releases, 1)}
    else:
        named = {"release": releases}
    for name, bags in named.items():
        if not isinstance(bags, Bags):
            raise TypeError(
                f"{name} must be a Bags, got {type(bags).__name__}; make one with "
                "Bags.from_arrays."
            )
    lengths = {name: len(bags) for name, bags in named.items()}
    if not named or not any(bags.n_bags for bags in named.values()):
        raise BagError("there is no bag in the releases: nothing is disclosed by them.")
    if len(set(lengths.values())) > 1:
        counted = ", ".join(
            f"{plural(number, 'row')} in {name}" for name, number in lengths.items()
        )
        raise BagError(
            f"the releases must be about the same rows, in one order, but there are {counted}: "
            "give rows that a release leaves out the bag id Bags.NO_BAG."
        )
    return {name: bags for name, bags in named.items() if bags.n_bags}


def pair_up(named: dict[str, Bags], known: list[IntArray]) -> list[tuple[Bags, IntArray]]:
    """Pair the bags of each release with the labels that it gives."""
    return list(zip(named.values(), known, strict=True))


def all_cells(
    named: dict[str, Bags], ranges: list[tuple[IntArray, IntArray]], known: list[IntArray]
) -> ReleasedCells:
    """Cut rows into cells; a label that is given is a bag of one."""
    indices, lowest, highest = [], [], []
    for (bags, labels), (low, high) in zip(pair_up(named, known), ranges, strict=True):
        rows = np.flatnonzero(labels >= 0)
        index = bags.bag_index.copy()
        index[rows] = bags.n_bags + np.arange(len(rows))
        indices.append(index)
        lowest.append(np.concatenate([low, labels[rows]]))
        highest.append(np.concatenate([high, labels[rows]]))
    return cut_into_cells(indices, lowest, highest)


def name_contradiction(
    error: ContradictionError, named: dict[str, Bags], cells: ReleasedCells
) -> str:
    """Write a sentence that names the bags concerned."""
    parts = []
    for number, (name, bags) in enumerate(named.items()):
        places = cells.place_of_bag[error.bags[cells.release_of_bag[error.bags] == number]]
        inside = places[places < bags.n_bags]
        if len(inside):
            parts.append(f"{name_bags(bags.ids[inside])} of {name}")
        if len(inside) < len(places):
            parts.append(f"labels given in {name}")
    return (
        f"the releases contradict each other, around {' and '.join(parts)}: no labels have the "
        "numbers of all of them, so check that row i of each is the same individual, and that "
        "noise= names what was added to the numbers."
    )
