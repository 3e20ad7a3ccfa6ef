# SPDX-License-Identifier: BSD-3-Clause
"""What the last pages of Parquet files say about their columns and rows."""

from __future__ import annotations

import glob

from bagshift.exceptions import TableError
from bagshift.scale._errors import explained, import_duckdb
from bagshift.scale._files import RowFile, is_address
from bagshift.scale._sql import text_list

LAYOUTS = """
WITH entries AS (
  SELECT file_name, column_id, name, coalesce(num_children, 0) AS n_parts,
    concat_ws(' ', type, converted_type, logical_type) AS kind
  FROM parquet_schema([{paths}])
), sizes AS (
  SELECT file_name, num_rows FROM parquet_file_metadata([{paths}])
)
SELECT file_name, list(name ORDER BY column_id), list(n_parts ORDER BY column_id),
  list(kind ORDER BY column_id), any_value(num_rows)
FROM entries JOIN sizes USING (file_name)
GROUP BY file_name
"""


def reading_path(path: str) -> str:
    """Write a path so that DuckDB does not take signs in it for a pattern."""
    return path if is_address(path) else glob.escape(path)


def check_parquet(paths: list[str]) -> tuple[tuple[RowFile, ...], bool]:
    """Read the columns and the number of rows of Parquet files.

    Parameters
    ----------
    paths : list of str

    Returns
    -------
    files : tuple of RowFile
    types_differ : bool
        Whether a column is of different types in different files.

    Raises
    ------
    TableError
        When one cannot be read.
    """
    files, kinds = [], set()
    for path, (names, n_parts, own_kinds, n_rows) in zip(paths, _layouts(paths), strict=True):
        columns = _columns(names, n_parts)
        if not columns:
            raise TableError(f"{path} has no columns.")
        files.append(RowFile(path, columns=columns, n_rows=n_rows))
        # The first entry is the root, which every library calls as it likes.
        kinds.add(frozenset(zip(names[1:], own_kinds[1:], strict=True)))
    return tuple(files), len(kinds) > 1


def _layouts(paths: list[str]) -> list[tuple[list[str], list[int], list[str], int]]:
    with import_duckdb().connect(":memory:", config={"threads": 1}) as connection:
        statement = LAYOUTS.format(paths=text_list([reading_path(path) for path in paths]))
        try:
            with explained():
                found = connection.sql(statement).fetchall()
        except TableError:
            _name_unreadable(connection, paths)
            raise
    by_path = {path: rest for path, *rest in found}
    return [by_path[path] for path in paths]


def _columns(names: list[str], n_parts: list[int]) -> tuple[str, ...]:
    """Pick the columns out of a list of root, columns and what these are made of."""
    columns, place = [], 1
    while place < len(names):
        columns.append(names[place])
        n_left = 1
        while n_left:
            n_left += n_parts[place] - 1
            place += 1
    return tuple(columns)


def _name_unreadable(connection: object, paths: list[str]) -> None:
    """Raise for the first file that cannot be read alone."""
    for path in paths:
        try:
            with explained():
                statement = LAYOUTS.format(paths=text_list([reading_path(path)]))
                connection.sql(statement).fetchall()  # type: ignore[attr-defined]
        except TableError as error:
            reason = str(error).removeprefix("A file cannot be read: ")
            raise TableError(f"{path} cannot be read as Parquet: {reason}") from error
