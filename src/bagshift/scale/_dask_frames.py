# SPDX-License-Identifier: BSD-3-Clause
"""What a first pass over Dask data frames tells: their bags, their labels and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.exceptions import BagError, TableError, name_bags, name_some
from bagshift.scale._dask_blocks import Columns


@dataclass(frozen=True, eq=False)
class Frames:
    """What was given."""

    target: Any
    bag: str
    source: Any
    label: str | None


@dataclass(frozen=True, eq=False)
class Known:
    """What a first pass over ids and labels tells.

    Attributes
    ----------
    columns : Columns
    ids : ndarray of shape (n_bags,)
        All bag ids of the rows, sorted.
    n_rows : ndarray of shape (n_bags,)
        Rows of each.
    lengths : list of int
        Rows of the partitions of the source.
    labels : ndarray or None
        Distinct labels of the source.
    label_counts : ndarray
        Rows of each.
    """

    columns: Columns
    ids: NDArray[Any]
    n_rows: NDArray[np.int64]
    lengths: list[int]
    labels: NDArray[Any] | None
    label_counts: NDArray[np.int64]


def choose_columns(frames: Frames, wanted: list[str] | None) -> Columns:
    """Return the columns that are features, or say which of them cannot be."""
    for name, frame, column in (
        ("target", frames.target, frames.bag),
        ("source", frames.source, frames.label),
    ):
        if frame is not None and column not in frame.columns:
            raise TableError(f"The {name} has no column {column!r}.")
    names = [name for name in frames.target.columns if name != frames.bag]
    names = names if wanted is None else list(wanted)
    if not names:
        raise TableError("The target has no column of features.")
    kinds = []
    for domain, frame in (("target", frames.target), ("source", frames.source)):
        if frame is None:
            continue
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise TableError(f"The {domain} has no column {name_some(missing)}.")
        types = frame._meta.dtypes
        other = [name for name in names if getattr(types[name], "kind", "O") not in "biuf"]
        if other:
            raise TableError(
                f"Column {name_some(other)} of the {domain} is of type {types[other[0]]}, not of "
                "numbers; encode it, or leave it out of columns=."
            )
        kinds += [types[name] for name in names]
    is_single = all(kind == np.float32 for kind in kinds)
    return Columns(names, np.dtype(np.float32 if is_single else np.float64))


def count(client: Client, frames: Frames, columns: Columns) -> Known:
    """Count the rows of bags, of labels and of partitions."""
    asked = [frames.target[frames.bag].value_counts(dropna=False)]
    if frames.source is not None:
        of_label = frames.source[frames.label]
        asked.append(of_label.value_counts(dropna=False))
        asked.append(of_label.map_partitions(len, meta=("length", np.int64)))
    by_bag, *of_source = [future.result() for future in client.compute(asked)]
    if by_bag.index.hasnans:
        raise BagError(
            f"The bag id is missing in {int(by_bag[by_bag.index.isna()].sum()):,} rows of the "
            "target; leave these rows out."
        )
    if by_bag.index.dtype.kind not in "iu" and by_bag.index.inferred_type != "string":
        raise BagError(
            f"Bag ids are whole numbers or text, but column {frames.bag!r} is of type "
            f"{by_bag.index.dtype}; turn it into one of these."
        )
    by_bag = by_bag.sort_index()
    ids = by_bag.index.to_numpy(dtype=object if by_bag.index.dtype.kind not in "iu" else None)
    lengths, labels, label_counts = [], None, np.empty(0, dtype=np.int64)
    if of_source:
        by_label, of_partitions = of_source
        if by_label.index.hasnans:
            raise TableError(
                f"The label is missing in {int(by_label[by_label.index.isna()].sum()):,} rows of "
                "the source; leave these rows out."
            )
        lengths = [int(length) for length in of_partitions]
        labels, label_counts = np.array(by_label.index.tolist()), by_label.to_numpy()
    return Known(columns, ids, by_bag.to_numpy(np.int64), lengths, labels, label_counts)


def meet(
    known: Known, shares: Any, counts: Any, sizes: Any, positive: Any, on_unmatched: str
) -> Bags:
    """Return bags of one row each, with the sizes of the true ones, in the order of their ids."""
    n_rows = dict(zip(known.ids.tolist(), known.n_rows.tolist(), strict=True))
    bags = Bags.from_arrays(
        known.ids,
        shares,
        counts=counts,
        sizes=n_rows if sizes is None else sizes,
        positive=positive,
        on_unmatched=on_unmatched,
    )
    few = [bag for bag, size in zip(bags.ids, bags.sizes, strict=True) if size < n_rows[bag]]
    if few:
        raise BagError(
            f"sizes= declares fewer individuals than there are rows in {name_bags(few)}."
        )
    return bags
