# SPDX-License-Identifier: BSD-3-Clause
"""Rows as what stands behind FROM in a statement of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

from bagshift.exceptions import TableError
from bagshift.scale._errors import explained
from bagshift.scale._files import RowFile, is_address
from bagshift.scale._parquet import reading_path
from bagshift.scale._sql import quoted, text_list, text_literal
from bagshift.scale.rows import Rows

ROW_ORDER = ("file_index", "file_row_number")


@contextmanager
def relation(connection: Any, rows: Rows) -> Iterator[str]:
    """Give the text that stands for rows behind FROM.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows

    Yields
    ------
    str
        A call of a reader; of a frame the name under which DuckDB knows it within the block.
    """
    if rows.kind != "frame":
        yield _reader(rows)
        return
    name = f"frame_{uuid4().hex}"
    with explained(rows):
        connection.register(name, rows.frame)
    try:
        yield name
    finally:
        connection.unregister(name)


def column_types(connection: Any, rows: Rows) -> dict[str, str]:
    """Find the columns of rows and the types that DuckDB reads them as.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows

    Returns
    -------
    dict of str to str
        All columns of CSV files are VARCHAR; what they hold is found by looking at every value.

    Raises
    ------
    TableError
        When the columns cannot be read.
    """
    with relation(connection, rows) as table, explained(rows):
        described = connection.sql(f"DESCRIBE SELECT * FROM {table}").fetchall()
    return {str(name): str(kind) for name, kind, *_ in described}


def require_columns(types: dict[str, str], names: list[str], rows: Rows) -> None:
    """Raise unless there are columns of these very names.

    Parameters
    ----------
    types : dict of str to str
        Columns there are.
    names : list of str
        Columns there should be.
    rows : Rows
        Their table, for the message.

    Raises
    ------
    TableError
        Naming the first that is missing.
    """
    for name in names:
        if name not in types:
            by_case = {known.lower(): known for known in types}
            hint = f" (did you mean {by_case[name.lower()]!r}?)" if name.lower() in by_case else ""
            raise TableError(f"{rows.name} has no column {name!r}{hint}.")


def count_rows(connection: Any, rows: Rows) -> int:
    """Count rows; of Parquet files without reading them.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    rows : Rows

    Returns
    -------
    int
    """
    known = [file.n_rows for file in rows.files if file.n_rows is not None]
    if rows.files and len(known) == len(rows.files):
        return sum(known)
    with relation(connection, rows) as table, explained(rows):
        return int(connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def row_order(rows: Rows, types: dict[str, str]) -> list[str]:
    """Return expressions by which rows are in the order of their files.

    Parameters
    ----------
    rows : Rows
    types : dict of str to str
        Their columns: one of the same name hides what DuckDB knows of a row.

    Returns
    -------
    list of str
    """
    hidden = {name.lower() for name in types}.intersection(ROW_ORDER)
    if rows.kind == "parquet" and not hidden:
        return list(ROW_ORDER)
    return ["row_number() OVER ()"]


def file_marks(rows: Rows) -> list[list[Any]]:
    """Return name, size and time of the last change of every file.

    Parameters
    ----------
    rows : Rows

    Returns
    -------
    list of [str, int, int]
        Names are relative to the folder that all files lie in. Of an address only the address.
    """
    marks: list[list[Any]] = []
    folders = [set(Path(file.path).parents) for file in rows.files]
    shared = max(set.intersection(*folders), key=lambda path: len(path.parts)) if folders else "."
    for file in rows.files:
        if is_address(file.path):
            marks.append([file.path, 0, 0])
            continue
        try:
            facts = Path(file.path).stat()
        except OSError as error:
            raise TableError(f"{file.path} cannot be read any more: {error.strerror}.") from error
        marks.append(
            [Path(file.path).relative_to(shared).as_posix(), facts.st_size, facts.st_mtime_ns]
        )
    return marks


def _reader(rows: Rows) -> str:
    if rows.kind == "parquet":
        options = ", union_by_name=true" if rows.types_differ else ""
        return f"read_parquet([{_paths(rows.files)}]{options}{_partitions(rows)})"
    # Columns are found by their place in the file, so files with another order are read apart.
    layouts = groupby(rows.files, key=lambda file: (file.columns, file.separator))
    parts = [_csv_reader(list(files), rows) for _, files in layouts]
    if len(parts) == 1:
        return parts[0]
    return f"({' UNION ALL BY NAME '.join(f'SELECT * FROM {part}' for part in parts)})"


def _csv_reader(files: list[RowFile], rows: Rows) -> str:
    columns = ", ".join(f"{text_literal(name)}: 'VARCHAR'" for name in files[0].columns)
    # What DuckDB guesses of a file may leave out rows that do not fit the guess.
    return (
        f"read_csv([{_paths(files)}], auto_detect=false, header=true, "
        f"delim={text_literal(files[0].separator)}, quote='\"', escape='\"', "
        f"columns={{{columns}}}{_partitions(rows)})"
    )


def _partitions(rows: Rows) -> str:
    # Values in the names of folders are text, as those of CSV files are.
    is_on = str(rows.is_partitioned).lower()
    return f", hive_partitioning={is_on}, hive_types_autocast=false"


def _paths(files: list[RowFile] | tuple[RowFile, ...]) -> str:
    return text_list([reading_path(file.path) for file in files])


def named(table: str, reader: str, statement: str) -> str:
    """Put rows under a name in front of a statement that reads from that name."""
    return f"WITH {quoted(table)} AS (SELECT * FROM {reader})\n{statement}"
