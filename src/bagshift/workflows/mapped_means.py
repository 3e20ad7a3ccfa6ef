# SPDX-License-Identifier: BSD-3-Clause
"""Means of bags of mapped rows: the map goes over the rows before they are averaged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray

from bagshift.estimators._mapped_rows import MappedRows, SampledMap
from bagshift.scale import stored_rows
from bagshift.scale._manifest import begin
from bagshift.scale._npy import RowWriter
from bagshift.solvers._chunks import CHUNK_ROWS, in_order, threads
from bagshift.workflows.streamed_inputs import StreamedInputs, StreamRequest

FILE = "means.npy"
# Features of a map unless their number is given: as many as searches have.
COMPONENTS = 300
# What the means of the bags take that are computed between two looks at the disk, at most.
PART_BYTES = 32 * 2**20

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def components_of(machine: Any) -> int:
    """Return how many features the map of a machine has, at most.

    Parameters
    ----------
    machine : classifier

    Returns
    -------
    int
    """
    wanted = machine.n_components
    return wanted if isinstance(wanted, int) else COMPONENTS


def with_mapped_means(
    inputs: StreamedInputs,
    mapped: SampledMap,
    stream: StreamRequest,
    *,
    progress: Callable[[int, int], None],
    on_read: Callable[[int], None] | None = None,
) -> StreamedInputs:
    """Return inputs whose target are the means of mapped rows.

    Parameters
    ----------
    inputs : StreamedInputs
        With the rows of the target bag by bag.
    mapped : SampledMap
    stream : StreamRequest
    progress : callable
        Called with the number of rows done and of all.
    on_read : callable, optional
        Called with the number of means whenever some are read later.

    Returns
    -------
    StreamedInputs
    """
    facts = json.dumps([mapped.mark, inputs.bags.mark])
    mark = blake2b(facts.encode(), digest_size=6).hexdigest()
    file = mapped_means(
        MappedRows(inputs.X_target, mapped.space),
        inputs.bags.n_rows,
        inputs.folder / f"mapped-{mark}",
        mark,
        n_threads=stream.n_threads or effective_n_jobs(-1),
        progress=progress,
    )
    return replace(inputs, X_target=stored_rows([file], on_read=on_read))


def mapped_means(
    rows: MappedRows,
    n_rows: Integers,
    folder: Path,
    mark: str,
    *,
    n_threads: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Compute the mean features of every bag, or go on with that.

    Parameters
    ----------
    rows : MappedRows
        Bag by bag.
    n_rows : ndarray of shape (n_bags,)
        Rows of each bag.
    folder : Path
        Folder of the result; it is made if it is not there.
    mark : str
        What stands for rows and map.
    n_threads : int, default=1
        The result does not depend on it.
    progress : callable, optional
        Called with the number of rows done and of all.

    Returns
    -------
    Path
        File of single precision; sums are doubles.

    Raises
    ------
    TableError
        When the folder was begun with something else, or cannot be used.
    """
    manifest = begin(folder, {"result": "mapped means", "mark": mark}, [])
    start = manifest.parts[-1]["last_bag"] if manifest.parts else 0
    starts = np.concatenate([[0], np.cumsum(n_rows)])
    shape = (len(n_rows), rows.shape[1])
    with (
        threads(n_threads) as pool,
        RowWriter(manifest.folder / FILE, shape, np.float32, start) as writer,
    ):
        for first, end in _parts(start, *shape):
            inside = starts[first : end + 1] - starts[first]
            own = rows[int(starts[first]) : int(starts[end])]
            blocks = range(0, len(own), CHUNK_ROWS)

            def sums(number: int, own: MappedRows = own, inside: Integers = inside) -> _Sums:
                return _block_sums(own, inside, number * CHUNK_ROWS)

            total = np.zeros((end - first, shape[1]))
            for number, (bag, found) in enumerate(in_order(pool, sums, len(blocks))):
                total[bag : bag + len(found)] += found
                done = int(starts[first]) + min((number + 1) * CHUNK_ROWS, len(own))
                progress(done, int(starts[-1]))
            writer.append(total / n_rows[first:end, None])
            writer.flush()
            manifest = manifest.with_part({"last_bag": end})
    return manifest.folder / FILE


_Sums = tuple[int, Floats]


def _parts(start: int, n_bags: int, n_features: int) -> Iterator[tuple[int, int]]:
    """Cut the bags that are left into parts whose sums fit into memory."""
    step = max(PART_BYTES // (8 * n_features), 1)
    return ((first, min(first + step, n_bags)) for first in range(start, n_bags, step))


def _block_sums(rows: MappedRows, starts: Integers, begin: int) -> _Sums:
    """Add up the rows of a block by bag; return the first of its bags, too."""
    features = np.asarray(rows[begin : begin + CHUNK_ROWS], dtype=np.float64)
    end = begin + len(features)
    first = int(np.searchsorted(starts, begin, side="right")) - 1
    last = int(np.searchsorted(starts, end, side="left"))
    places = np.maximum(starts[first:last] - begin, 0)
    return first, np.add.reduceat(features, places, axis=0)
