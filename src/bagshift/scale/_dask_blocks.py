# SPDX-License-Identifier: BSD-3-Clause
"""From Dask data frames to blocks of units and rows on the workers.

What is known of bags lies here; rows never come. A block of the target is a range of bag ids, so
Dask's own shuffle by the divisions of an index brings the rows of a bag together; a block of the
source is a range of its rows in their order. Within a bag, rows stand in the order of the frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from dask.sizeof import sizeof
from distributed import Client, Future
from numpy.typing import NDArray

from bagshift.estimators._coupled import Loss, hinge_loss
from bagshift.estimators._feature_space import ColumnScale, scale_from
from bagshift.exceptions import TableError
from bagshift.scale.dask_passes import Blocks, aligned
from bagshift.solvers._chunks import CHUNK_ROWS
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.linear_units import LinearUnits

Numbers = NDArray[np.int64]

# A block has no more bytes of features, where one chunk has not, and a worker's thread two of
# them at least, where there are enough chunks.
_BLOCK_BYTES, _BLOCKS_EACH = 2**26, 2
# Rows are numbered by their partition and their place in it.
_MOST_IN_PARTITION = 2**32
_PLACE = "bagshift place"
_COUNT = "bagshift count"


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns of a frame are features, and of what precision they are taken.

    Attributes
    ----------
    names : list of str
    dtype : dtype
        float32 where all features are, else float64.
    """

    names: list[str]
    dtype: np.dtype[Any]

    def matrix(self, frame: Any, what: str) -> NDArray[Any]:
        """Return the features of rows, or say which column holds no numbers."""
        found = np.ascontiguousarray(frame[self.names].to_numpy(dtype=self.dtype, na_value=np.nan))
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = np.isfinite(found.sum()) or bool(np.isfinite(found).all())
        if not is_finite:
            place = int(np.flatnonzero(~np.isfinite(found).all(axis=0))[0])
            raise TableError(
                f"Column {self.names[place]!r} of {what} holds missing or infinite numbers; fill "
                "them in."
            )
        return found


@dataclass(frozen=True, eq=False)
class Bagged:
    """The bags of a target frame.

    Attributes
    ----------
    bag : str
        Column of ids.
    all_ids : ndarray of shape (n_all_bags,)
        Ids of all bags that have rows, sorted.
    ids : ndarray of shape (n_bags,)
        Those of them that have a share.
    n_rows : ndarray of int64, shape (n_bags,)
        Rows of each.
    """

    bag: str
    all_ids: NDArray[Any]
    ids: NDArray[Any]
    n_rows: Numbers

    @property
    def n_bags(self) -> int:
        """Number of bags that have a share."""
        return len(self.ids)

    def divisions(self, borders: Numbers) -> list[Any]:
        """Return the ids that blocks of bags begin with, and the last of all."""
        inner = self.ids[borders[1:-1]].tolist()
        return [self.all_ids[:1].tolist()[0], *inner, self.all_ids[-1:].tolist()[0]]


def n_chunks_each(client: Client, n_chunks: int, n_features: int) -> int:
    """Return the number of chunks of a block: a power of two, whatever there is to compute with.

    Results do not depend on it.
    """
    n_threads = max(sum(client.nthreads().values()), 1)
    fit = _BLOCK_BYTES // (CHUNK_ROWS * max(n_features, 1) * 8)
    most = max(min(fit, n_chunks // (_BLOCKS_EACH * n_threads)), 1)
    return 1 << (int(most).bit_length() - 1)


# Target -----------------------------------------------------------------------------------


def blocks_of_means(
    client: Client, frame: Any, columns: Columns, bags: Bagged, loss: Loss
) -> Blocks:
    """Return the means of bags with their losses.

    Rows are summed up by bag in every partition, and only these sums are moved.
    """
    n_bags, n_features = len(bags.ids), len(columns.names)
    n_chunks = -(-n_bags // CHUNK_ROWS)
    each = n_chunks_each(client, n_chunks, n_features)
    borders = np.append(np.arange(0, n_bags, each * CHUNK_ROWS), n_bags)
    sums = frame.map_partitions(
        _sums_by_bag, columns, bags.bag, meta=_sums_by_bag(frame._meta, columns, bags.bag)
    )
    parts = _brought_together(client, sums, bags, borders)
    units = LinearUnits(np.empty((n_bags, 0)), **vars(loss))
    futures = []
    for part, (first, end) in zip(parts, pairwise(borders), strict=True):
        known = units.take(slice(first, end))
        ids, n_rows = bags.ids[first:end], bags.n_rows[first:end]
        futures.append(client.submit(_mean_units, part, columns, ids, n_rows, known, pure=False))
    del parts
    return Blocks(client, _done(client, futures), each, n_bags, n_bags, n_features)


def blocks_of_counted_rows(
    client: Client, frame: Any, columns: Columns, bags: Bagged, counts: BagCounts, cost: float
) -> Blocks:
    """Return the rows of bags with what is published of them."""
    n_features = len(columns.names)
    known = CountedRows(np.empty((counts.n_rows, 0)), counts, np.full(counts.n_bags, float(cost)))
    chunks = known.borders(CHUNK_ROWS)
    each = n_chunks_each(client, len(chunks) - 1, n_features)
    borders = np.append(chunks[:-1:each], chunks[-1])
    names = [bags.bag, *columns.names]
    numbered = frame[names].map_partitions(_with_places, meta=_with_places(frame[names]._meta))
    parts = _brought_together(client, numbered, bags, borders)
    futures = []
    for part, (first, end) in zip(parts, pairwise(borders), strict=True):
        ids = bags.ids[first:end]
        block = known.between(first, end)
        futures.append(client.submit(_counted_rows, part, columns, ids, block, pure=False))
    del parts
    return Blocks(client, _done(client, futures), each, counts.n_rows, counts.n_bags, n_features)


def _brought_together(client: Client, frame: Any, bags: Bagged, borders: Numbers) -> list[Future]:
    """Return partitions of a frame that each hold a range of bags."""
    shuffled = frame.set_index(bags.bag, divisions=bags.divisions(borders), shuffle_method="p2p")
    return list(client.compute(shuffled.to_delayed()))


def _sums_by_bag(
    frame: Any, columns: Columns, bag: str, partition_info: dict[str, Any] | None = None
) -> Any:
    features = columns.matrix(frame, "the target").astype(np.float64, copy=False)
    values = pd.DataFrame(features, columns=columns.names, index=frame.index)
    grouped = values.groupby(frame[bag], sort=False)
    sums, counts = grouped.sum(), grouped.size()
    number = 0 if partition_info is None else partition_info["number"]
    found = sums.assign(**{_COUNT: counts.to_numpy(np.int64), _PLACE: np.int64(number)})
    return found.rename_axis(index=bag).reset_index()


def _with_places(frame: Any, partition_info: dict[str, Any] | None = None) -> Any:
    number = 0 if partition_info is None else partition_info["number"]
    places = number * _MOST_IN_PARTITION + np.arange(len(frame), dtype=np.int64)
    return frame.assign(**{_PLACE: places})


def _sorted_by_bag(frame: Any, ids: NDArray[Any]) -> tuple[Any, Numbers]:
    """Return the rows of these bags, bag by bag, and the place of the bag of each."""
    place = pd.Index(ids).get_indexer(frame.index)
    order = np.lexsort([frame[_PLACE].to_numpy(), place])
    order = order[np.count_nonzero(place < 0) :]
    return frame.iloc[order], place[order].astype(np.int64)


def _mean_units(
    frame: Any, columns: Columns, ids: NDArray[Any], n_rows: Numbers, units: LinearUnits
) -> LinearUnits:
    frame, place = _sorted_by_bag(frame, ids)
    starts = np.searchsorted(place, np.arange(len(ids)))
    counts = frame[_COUNT].to_numpy()
    if not np.array_equal(np.bincount(place, counts, minlength=len(ids)), n_rows):
        raise _other_rows("target")
    sums = np.add.reduceat(frame[columns.names].to_numpy(np.float64), starts, axis=0)
    means = (sums / n_rows[:, None]).astype(columns.dtype, copy=False)
    return aligned(replace(units, features=np.ascontiguousarray(means)))


def _counted_rows(
    frame: Any, columns: Columns, ids: NDArray[Any], rows: CountedRows
) -> CountedRows:
    frame, place = _sorted_by_bag(frame, ids)
    if not np.array_equal(np.bincount(place, minlength=len(ids)), rows.counts.sizes):
        raise _other_rows("target")
    return aligned(replace(rows, features=columns.matrix(frame, "the target")))


# Source -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labels of a source frame.

    Attributes
    ----------
    label : str
        Column of labels.
    second : label
        What is +1.
    cost : float
        Factor on the loss of each row.
    as_units : bool
        Whether rows have the hinge loss, and not the logistic one.
    """

    label: str
    second: Any
    cost: float
    as_units: bool


def blocks_of_labelled_rows(
    client: Client, frame: Any, columns: Columns, labels: Labelled, lengths: Sequence[int]
) -> Blocks:
    """Return labelled rows in the order of their frame, whose partitions have these lengths."""
    n_features, n_rows = len(columns.names), int(sum(lengths))
    each = n_chunks_each(client, -(-n_rows // CHUNK_ROWS), n_features)
    borders = np.append(np.arange(0, n_rows, each * CHUNK_ROWS), n_rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    parts = list(client.compute(frame[[labels.label, *columns.names]].to_delayed()))
    futures = []
    for first, end in pairwise(borders):
        pieces = []
        for number in range(
            int(np.searchsorted(starts, first, side="right")) - 1,
            int(np.searchsorted(starts, end, side="left")),
        ):
            rows = slice(max(first - starts[number], 0), end - starts[number])
            pieces.append(client.submit(_cut, parts[number], lengths[number], rows, pure=False))
        futures.append(client.submit(_labelled_rows, pieces, columns, labels, pure=False))
    del parts, pieces
    return Blocks(client, _done(client, futures), each, n_rows, n_rows, n_features)


def _cut(frame: Any, length: int, rows: slice) -> Any:
    if len(frame) != length:
        raise _other_rows("source")
    return frame.iloc[rows]


def _labelled_rows(
    frames: list[Any], columns: Columns, labels: Labelled
) -> LinearUnits | LabelledRows:
    features = np.concatenate([columns.matrix(frame, "the source") for frame in frames])
    is_second = np.concatenate(
        [(frame[labels.label] == labels.second).to_numpy(dtype=bool) for frame in frames]
    )
    signs = np.where(is_second, 1.0, -1.0)
    costs = np.full(len(signs), float(labels.cost))
    if labels.as_units:
        return LinearUnits(features, **vars(hinge_loss(signs, costs)))
    return LabelledRows(features, signs, costs)


# Columns ----------------------------------------------------------------------------------


def column_scale_of(parts: list[Blocks], rule: bool | str) -> ColumnScale | None:
    """Return how to standardise the columns of all blocks together, or None."""
    if rule is False:
        return None
    n_rows = sum(blocks.n_rows for blocks in parts)
    nothing = np.zeros(parts[0].n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        center = sum(
            blocks.added_up(blocks.map(_powers, less=nothing, power=1)) for blocks in parts
        )
        center = center / n_rows
        squares = sum(
            blocks.added_up(blocks.map(_powers, less=center, power=2)) for blocks in parts
        )
        return scale_from(center, squares / n_rows, rule)


def standardised(blocks: Blocks, scale: ColumnScale | None) -> Blocks:
    """Return blocks with standardised columns."""
    if scale is None:
        return blocks
    return replace(blocks, futures=_done(blocks.client, blocks.map(_scaled, scale=scale)))


def _powers(block: Any, less: NDArray[Any], power: int) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(((block.features.astype(np.float64) - less) ** power).sum(axis=0))


def _scaled(block: Any, scale: ColumnScale) -> Any:
    return replace(block, features=scale.apply(block.features))


# All --------------------------------------------------------------------------------------


def _done(client: Client, futures: list[Future]) -> list[Future]:
    """Wait for blocks; raise what went wrong in one of them."""
    client.gather(client.map(sizeof, futures, pure=False))
    return futures


def _other_rows(domain: str) -> TableError:
    return TableError(
        f"The {domain} has other rows than when they were counted; a frame must give the same "
        "rows each time that it is computed."
    )
