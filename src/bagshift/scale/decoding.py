# SPDX-License-Identifier: BSD-3-Clause
"""Rows decoded once into files of NumPy, which every later pass maps into memory.

Reading Parquet again in each pass takes eighteen times as long. The result is cut into parts;
each is written whole, and a call that was interrupted or killed is gone on with after the last
part: the files are the same, byte for byte, as those of a call that was not.

Rows bag by bag come from one sort by bag id and place in the file, which spills to disk when it
does not fit into memory; rows of the bags that are not written yet are sorted again when a call
goes on. Cutting the rows by bag into files first and sorting these took half as long again.
"""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift.exceptions import TableError
from bagshift.scale._decode_tasks import DecodeTask, bag_by_bag, row_by_row
from bagshift.scale._feature_sql import row_expressions, value_columns
from bagshift.scale._manifest import Manifest, begin, digest
from bagshift.scale._npy import map_array
from bagshift.scale._relation import column_types, file_marks
from bagshift.scale._streaming import Progress
from bagshift.scale.bag_index import BagIndex
from bagshift.scale.labels import LabelColumn
from bagshift.scale.preparation import Preparation
from bagshift.scale.rows import Rows

PART_BYTES = 64 * 2**20


@dataclass(frozen=True)
class DecodedRows:
    """Rows as files of NumPy.

    Attributes
    ----------
    folder : Path
        Where they lie.
    names : list of str
        Names of the features.
    part_rows : tuple of int
        Rows of every part.
    part_bags : tuple of (int, int)
        First bag of every part, and the first one after it; empty unless rows are bag by bag.
    rows_per_second : float
        Speed of this call; NaN when nothing was left to do.
    """

    folder: Path
    names: list[str]
    part_rows: tuple[int, ...]
    part_bags: tuple[tuple[int, int], ...]
    rows_per_second: float

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.part_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.part_rows)

    def files(self, what: str) -> list[Path]:
        """Name the files of one kind.

        Parameters
        ----------
        what : {"features", "labels", "bags"}

        Returns
        -------
        list of Path
            In the order of the rows.
        """
        return [part_file(self.folder, what, part) for part in range(self.n_parts)]

    def features(self, part: int) -> NDArray[np.float32]:
        """Map the features of a part into memory.

        Parameters
        ----------
        part : int

        Returns
        -------
        ndarray of shape (n_rows_of_part, n_features)
        """
        return self._mapped("features", part)

    def labels(self, part: int) -> NDArray[np.int8]:
        """Map the labels of a part into memory.

        Parameters
        ----------
        part : int

        Returns
        -------
        ndarray of shape (n_rows_of_part,)
            1 for the positive label and 0 for the other.
        """
        return self._mapped("labels", part)

    def bags(self, part: int) -> NDArray[np.int32] | NDArray[np.int64]:
        """Map the bags of a part into memory.

        Parameters
        ----------
        part : int

        Returns
        -------
        ndarray of shape (n_rows_of_part,)
            Place of the bag of every row among the used bags; -1 for none.
        """
        return self._mapped("bags", part)

    def _mapped(self, what: str, part: int) -> NDArray[Any]:
        return map_array(part_file(self.folder, what, range(self.n_parts)[part]))


def part_file(folder: Path, what: str, part: int) -> Path:
    """Return the file of a part.

    Parameters
    ----------
    folder : Path
    what : {"features", "labels", "bags"}
    part : int

    Returns
    -------
    Path
    """
    return folder / f"{what}-{part:05d}.npy"


def decode_rows(
    connection: Any,
    rows: Rows,
    preparation: Preparation,
    folder: str | Path,
    *,
    labels: LabelColumn | None = None,
    bags: BagIndex | None = None,
    order_by_bag: bool = False,
    part_rows: int | None = None,
    n_rows: int | None = None,
    progress: Progress | None = None,
) -> DecodedRows:
    """Write features, and labels or bags, to files of NumPy.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        As :func:`~bagshift.scale.connection.connect` gives it.
    rows : Rows
        What to decode.
    preparation : Preparation
        How rows become features.
    folder : str or Path
        Folder of the result; it is made if it is not there.
    labels : LabelColumn, optional
        Labels to write beside the features; rows without one are left out.
    bags : BagIndex, optional
        Bags to write beside the features.
    order_by_bag : bool, default=False
        Whether rows come bag by bag, in order of the ids, and no bag is cut over parts; rows in
        no used bag are left out. Otherwise they stay in the order of the files.
    part_rows : int, optional
        Most rows of a part, unless one bag alone has more; those of 64 MiB if not given.
    n_rows : int, optional
        How many rows there are, if that is known; saves counting those of CSV files for
        `progress`.
    progress : callable, optional
        Called with the number of rows done and of all; one that stays bag by bag is half done
        when it is sorted.

    Returns
    -------
    DecodedRows

    Raises
    ------
    TableError
        When the files changed since the folder was begun, it was begun with other settings, a
        column is missing or cannot be read as its kind, or there is a third label.
    """
    if labels is not None and bags is not None:
        raise TableError("Give either labels or bags: rows of history are in no bag.")
    if order_by_bag and bags is None:
        raise TableError("order_by_bag=True needs bags=, as index_bags counts them.")
    if part_rows is None:
        part_rows = max(PART_BYTES // (4 * len(preparation.features)), 1)
    elif isinstance(part_rows, bool) or part_rows != int(part_rows) or part_rows < 1:
        raise TableError(f"part_rows must be a whole number from 1 up, not {part_rows!r}.")
    types = column_types(connection, rows)
    task = DecodeTask(
        connection,
        rows,
        types,
        value_columns(preparation, types, rows.name),
        row_expressions(preparation),
        labels,
        bags,
        int(part_rows),
        n_rows,
        progress,
    )
    manifest = begin(folder, _settings(task, order_by_bag), _marks(rows))
    _check_parts(manifest, task)
    began, n_before = time.monotonic(), _rows_of(manifest)
    if not manifest.done:
        run = bag_by_bag if order_by_bag else row_by_row
        with closing(run(task, manifest.parts)) as parts:
            for part, arrays in parts:
                manifest = _keep(manifest, part, arrays)
        manifest.check_inputs(_marks(rows))
        manifest = manifest.finished()
    seconds = time.monotonic() - began
    n_new = _rows_of(manifest) - n_before
    return _result(manifest, preparation, n_new / seconds if n_new else math.nan)


def _settings(task: DecodeTask, order_by_bag: bool) -> dict[str, Any]:
    bags, labels = task.bags, task.labels
    return {
        "result": "decoded rows",
        "columns": digest("\n".join([*task.values, *task.features])),
        "labels": [labels.column, str(labels.negative), str(labels.positive)] if labels else None,
        "bags": bags.mark if bags else None,
        "order_by_bag": order_by_bag,
        "part_rows": task.part_rows,
    }


def _marks(rows: Rows) -> list[list[Any]] | None:
    return file_marks(rows) if rows.files else None


def _rows_of(manifest: Manifest) -> int:
    return sum(part["n_rows"] for part in manifest.parts)


def _kept(manifest: Manifest) -> list[dict[str, Any]]:
    """Return the parts that have files; one without rows only says that files are done."""
    return [part for part in manifest.parts if part["n_rows"]]


def _check_parts(manifest: Manifest, task: DecodeTask) -> None:
    """Raise when files of parts that were written are gone."""
    for number in range(len(_kept(manifest))):
        for what in task.outputs:
            file = part_file(manifest.folder, what, number)
            if not file.exists():
                raise TableError(f"{file} is gone: delete {manifest.folder} to begin anew.")


def _keep(manifest: Manifest, part: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Manifest:
    """Write the files of a part, then enter it."""
    number = len(_kept(manifest))
    for what, array in arrays.items():
        file = part_file(manifest.folder, what, number)
        # Not entered yet, so a file that is only half there is written again.
        try:
            np.save(file, array, allow_pickle=False)
        except OSError as error:
            raise TableError(f"{file} cannot be written: {error.strerror or error}.") from error
    return manifest.with_part(part)


def _result(manifest: Manifest, preparation: Preparation, speed: float) -> DecodedRows:
    parts = _kept(manifest)
    return DecodedRows(
        manifest.folder,
        preparation.names,
        tuple(part["n_rows"] for part in parts),
        tuple(tuple(part["bags"]) for part in parts if "bags" in part),
        speed,
    )
