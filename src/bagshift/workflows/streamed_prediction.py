# SPDX-License-Identifier: BSD-3-Clause
"""Predictions for the rows of files bigger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bagshift.columns import NamedTable, as_kinds, require_kinds
from bagshift.exceptions import TableError
from bagshift.persistence import SavedModel
from bagshift.scale import Rows, connect
from bagshift.scale._relation import column_types, count_rows, relation
from bagshift.scale._sql import quoted
from bagshift.scale._streaming import stream
from bagshift.tables import as_read_from_csv, growing_table
from bagshift.workflows.prediction import (
    LABEL,
    ROW,
    check_row_name,
    column_notes,
    columns_of_text,
    name_of_rows,
    predicted_columns,
    rows_at_a_time,
    with_row_names,
)
from bagshift.workflows.streamed_inputs import rows_at


@dataclass(frozen=True)
class StreamedPredictions:
    """What was written.

    Attributes
    ----------
    n_rows, n_positive : int
        Rows, and those predicted to be of the positive class.
    columns : list of str
        Columns of the file.
    notes : list of str
        What is unlike the table of the fit.
    """

    n_rows: int
    n_positive: int
    columns: list[str]
    notes: list[str]


def predict_streamed(
    saved: SavedModel,
    path: Path,
    output: Path,
    *,
    memory: str,
    id_column: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> StreamedPredictions:
    """Predict every row of files bigger than memory, and write what is predicted to one file.

    The file is that of :func:`~bagshift.workflows.prediction.predict_rows`, to the last digit.

    Parameters
    ----------
    saved : SavedModel
        A loaded model.
    path : Path
        File, folder, pattern or address of the rows.
    output : Path
        Ends in ``.csv`` or ``.parquet``; it is there when all rows are done, and not before.
    memory : str
        What the process may hold, such as "4GB".
    id_column : str, optional
        As in :func:`~bagshift.workflows.prediction.predict_rows`.
    progress : callable, optional
        Called with the number of rows done and of all.

    Returns
    -------
    StreamedPredictions

    Raises
    ------
    TableError
        When the rows cannot be used, the file cannot be written, or the limit does not suffice.
    """
    rows = rows_at(path)
    _check_apart(rows, path, output)
    manifest = saved.manifest
    as_text = columns_of_text(manifest, [id_column])
    n_done = n_positive = 0
    columns: list[str] = []
    with connect(memory) as connection:
        types = column_types(connection, rows)
        require_kinds(types, manifest.columns, rows.name)
        name = name_of_rows(types, rows.name, manifest, id_column)
        wanted = list(dict.fromkeys([*manifest.columns, *([name] if name else [])]))
        n_rows = count_rows(connection, rows)
        with growing_table(output) as write:
            for frame in _blocks(connection, rows, wanted, rows_at_a_time(saved)):
                table = NamedTable(
                    as_read_from_csv(frame, as_text) if rows.kind == "csv" else frame, rows.name
                )
                found = predicted_columns(saved, as_kinds(table, manifest.columns))
                if not columns:
                    check_row_name(name or ROW, found.columns)
                found = with_row_names(found, table, manifest, name, first_row=n_done + 1)
                write(found)
                columns = found.columns
                n_positive += int((found[LABEL] == manifest.positive).sum())
                n_done += found.height
                progress(n_done, n_rows)
            if not n_done:
                raise TableError(f"{path} has no rows; it needs at least one below the header.")
    return StreamedPredictions(
        n_done, n_positive, columns, column_notes(list(types), manifest, as_text)
    )


def _blocks(
    connection: Any, rows: Rows, columns: list[str], n_rows: int
) -> Iterator[pl.DataFrame]:
    """Read some columns in the order of the files, so many rows at a time but the last."""
    with relation(connection, rows) as table:
        statement = f"SELECT {', '.join(map(quoted, columns))} FROM {table}"
        with closing(stream(connection, statement, rows, n_columns=len(columns))) as pieces:
            yield from _of_length(map(_frame, pieces), n_rows)


def _frame(piece: Any) -> pl.DataFrame:
    found = pl.from_arrow(piece)
    assert isinstance(found, pl.DataFrame)
    return found


def _of_length(frames: Iterable[pl.DataFrame], n_rows: int) -> Iterator[pl.DataFrame]:
    """Cut and join frames to a number of rows."""
    held: list[pl.DataFrame] = []
    n_held = 0
    for frame in frames:
        held.append(frame)
        n_held += frame.height
        if n_held < n_rows:
            continue
        whole = pl.concat(held)
        n_held = whole.height % n_rows
        n_full = whole.height - n_held
        for start in range(0, n_full, n_rows):
            yield whole[start : start + n_rows]
        held = [whole[n_full:]]
    if n_held:
        yield pl.concat(held)


def _check_apart(rows: Rows, path: Path, output: Path) -> None:
    """Raise when the output would replace a file that is read, or be read with them next time."""
    own = output.resolve()
    if any(Path(file.path).resolve() == own for file in rows.files):
        raise TableError(f"{output} is also read; give the output (-o) another name.")
    if path.is_dir() and path.resolve() in own.parents:
        raise TableError(
            f"{output} would lie among the rows in {path}; write it (-o) to another folder."
        )
