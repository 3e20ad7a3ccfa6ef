# SPDX-License-Identifier: BSD-3-Clause
"""Where rows come from: files, folders, addresses and frames, all read in the same way."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bagshift.exceptions import TableError, name_some, plural
from bagshift.scale._files import RowFile, csv_layouts, find_files, is_address, kind_of
from bagshift.scale._parquet import check_parquet

Kind = Literal["csv", "parquet", "frame"]
FRAME_LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class Rows:
    """A table that may be bigger than memory.

    Attributes
    ----------
    name : str
        What to call it in messages.
    kind : {"csv", "parquet", "frame"}
        How it is kept.
    files : tuple of RowFile
        Its files in the order they are read; none for a frame.
    frame : object
        The pandas, polars or Arrow frame, if it is one.
    is_partitioned : bool
        Whether names of folders such as ``year=2024`` hold columns.
    types_differ : bool
        Whether a column is of different types in different files, and so of the wider one.
    """

    name: str
    kind: Kind
    files: tuple[RowFile, ...] = ()
    frame: Any = field(default=None, repr=False, compare=False)
    is_partitioned: bool = False
    types_differ: bool = False


def rows_from(source: Any, *, name: str | None = None) -> Rows:
    """Find the rows of a table and look whether its files belong together.

    Parameters
    ----------
    source : str, Path or frame
        A CSV or Parquet file, a folder of files of one kind (those of its sub-folders too, and
        names of folders such as ``year=2024`` become columns), a pattern such as
        ``"data/*.parquet"``, an address that begins with ``https://`` or ``s3://``, or a frame of
        pandas, polars or Arrow, which is taken as it is. CSV is UTF-8 with one header line and
        commas, semicolons or tabs between fields.
    name : str, optional
        What to call the table in messages; the name of the file or folder if not given.

    Returns
    -------
    Rows

    Raises
    ------
    TableError
        When there is no such file, none in the folder, files of both kinds, files that cannot be
        read or whose columns differ.
    ImportError
        When DuckDB is not installed.
    """
    if not isinstance(source, str | Path):
        return _frame_rows(source, name)
    paths = find_files(source)
    name = name or _short_name(source)
    if kind_of(paths[0]) == "csv":
        files = csv_layouts(paths)
        _check_same_columns(files)
        return Rows(name, "csv", files, is_partitioned=_is_partitioned(paths))
    files, types_differ = check_parquet(paths)
    _check_same_columns(files)
    return Rows(
        name,
        "parquet",
        files,
        is_partitioned=_is_partitioned(paths),
        types_differ=types_differ,
    )


def _frame_rows(frame: Any, name: str | None) -> Rows:
    library = type(frame).__module__.partition(".")[0]
    is_lazy = hasattr(frame, "collect")
    names = None if is_lazy else getattr(frame, "column_names", getattr(frame, "columns", None))
    if library not in FRAME_LIBRARIES or names is None:
        raise TableError(
            "Rows come from a CSV or Parquet file, a folder, a pattern, an address, or a frame "
            f"of pandas, polars or Arrow, not from {type(frame).__name__!r}."
        )
    name = name or "the frame"
    strange = [column for column in names if not isinstance(column, str)]
    if strange:
        raise TableError(
            f"Columns {name_some(strange)} of {name} have names that are not text; rename them."
        )
    check_distinct(list(names), name)
    return Rows(name, "frame", frame=frame)


def check_distinct(names: list[str], where: str) -> None:
    """Raise when two names are the same but for upper and lower case, as they are in SQL.

    Parameters
    ----------
    names : list of str
        Names of columns.
    where : str
        What to call their table.

    Raises
    ------
    TableError
        Naming the first two.
    """
    seen: dict[str, str] = {}
    for column in names:
        if column.lower() not in seen:
            seen[column.lower()] = column
        elif seen[column.lower()] == column:
            raise TableError(
                f"{where} has more than one column {column!r}; rename or remove the doubles."
            )
        else:
            raise TableError(
                f"{where} has columns {seen[column.lower()]!r} and {column!r}, which are one name "
                "in SQL; rename one of them."
            )


def _check_same_columns(files: tuple[RowFile, ...]) -> None:
    """Raise when a file lacks a column that another one has."""
    first = files[0]
    check_distinct(list(first.columns), first.path)
    for file in files[1:]:
        if file.columns == first.columns:
            continue
        check_distinct(list(file.columns), file.path)
        for poor, rich in ((file, first), (first, file)):
            absent = [column for column in rich.columns if column not in set(poor.columns)]
            if absent:
                raise TableError(
                    f"{poor.path} has no {'column' if len(absent) == 1 else 'columns'} "
                    f"{name_some(absent)}, unlike {rich.path}: add what is missing, empty where "
                    f"unknown, or read the {plural(len(files), 'file')} apart."
                )


def _short_name(source: str | Path) -> str:
    return str(source) if is_address(source) else (Path(source).name or str(source))


def _is_partitioned(paths: list[str]) -> bool:
    return all("=" in Path(path).parent.name for path in paths)
