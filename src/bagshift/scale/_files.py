# SPDX-License-Identifier: BSD-3-Clause
"""Find the files of a table, and read the header lines of CSV files."""

from __future__ import annotations

import csv
import glob
import gzip
from dataclasses import dataclass
from pathlib import Path

from bagshift.exceptions import TableError, name_some
from bagshift.scale._errors import explained, import_duckdb
from bagshift.scale._sql import text_literal

ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet"}
SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True)
class RowFile:
    """A file of rows.

    Attributes
    ----------
    path : str
        Where it lies; a path or an address.
    columns : tuple of str
        Names of its columns in their order. A column of a CSV file without a name is called by as
        many blanks as make it differ from the others.
    separator : str
        What stands between the fields of a CSV file.
    n_rows : int or None
        How many rows a Parquet file has.
    """

    path: str
    columns: tuple[str, ...] = ()
    separator: str = ","
    n_rows: int | None = None


def is_address(source: str | Path) -> bool:
    """Tell an address such as ``s3://bucket/rows.parquet`` from a path."""
    return "://" in str(source)


def kind_of(path: str) -> str | None:
    """Tell CSV from Parquet by the ending; None for other files."""
    name = path.partition("?")[0] if is_address(path) else path
    found = [kind for ending, kind in ENDINGS.items() if name.lower().endswith(ending)]
    return found[0] if found else None


def find_files(source: str | Path) -> list[str]:
    """List the files of a table.

    Parameters
    ----------
    source : str or Path
        A file, a folder, a pattern or an address.

    Returns
    -------
    list of str
        At least one, all of one kind, sorted.

    Raises
    ------
    TableError
        When there is none, or there are files of both kinds.
    """
    if is_address(source):
        paths = _addresses(str(source))
    elif Path(source).is_dir():
        paths = _in_folder(Path(source))
    elif Path(source).exists():
        paths = [str(source)]
    elif glob.has_magic(str(source)):
        paths = sorted(path for path in glob.glob(str(source), recursive=True) if _is_file(path))
        if not paths:
            raise TableError(f"No file is of the pattern {source}; check the folder and the name.")
    else:
        raise TableError(f"{source} does not exist; check the name and the folder.")
    _check_kinds(paths, source)
    return paths


def _is_file(path: str) -> bool:
    return Path(path).is_file()


def _addresses(address: str) -> list[str]:
    """List addresses of a pattern, as far as the server can list its files."""
    if not glob.has_magic(address.partition("?")[0]):
        return [address]
    statement = f"SELECT file FROM glob({text_literal(address)}) ORDER BY file"
    with explained():
        found = import_duckdb().connect(":memory:").sql(statement).fetchall()
    if not found:
        raise TableError(f"No file is of the pattern {address}; check the address.")
    return [path for (path,) in found]


def _in_folder(folder: Path) -> list[str]:
    """List the tables below a folder; names that begin with a dot or line are not rows."""
    paths = [
        path
        for path in folder.rglob("*")
        if kind_of(path.name)
        and path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not paths:
        raise TableError(f"{folder} has no CSV or Parquet file in it.")
    return sorted(map(str, paths))


def _check_kinds(paths: list[str], source: str | Path) -> None:
    kinds = {kind_of(path): path for path in reversed(paths)}
    if None in kinds:
        raise TableError(
            f"{kinds[None]} is neither a CSV nor a Parquet file by its ending; tables end in "
            f"{', '.join(ENDINGS)}."
        )
    if len(kinds) > 1:
        raise TableError(
            f"{source} has CSV and Parquet files in it, such as "
            f"{name_some(sorted(Path(path).name for path in kinds.values()))}; read one kind at "
            "a time."
        )


def csv_layouts(paths: list[str]) -> tuple[RowFile, ...]:
    """Read the header lines of CSV files.

    Parameters
    ----------
    paths : list of str

    Returns
    -------
    tuple of RowFile

    Raises
    ------
    TableError
        When one cannot be read.
    """
    return tuple(_csv_layout(path) for path in paths)


def _csv_layout(path: str) -> RowFile:
    if is_address(path):
        return _csv_layout_at(path)
    try:
        opener = gzip.open if path.lower().endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            line = file.readline()
        if not line.strip():
            raise TableError(f"{path} is empty, or begins with an empty line.")
        splits = [(next(csv.reader([line], delimiter=mark)), mark) for mark in SEPARATORS]
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text; save it again in UTF-8.") from error
    except (OSError, EOFError, csv.Error) as error:
        raise TableError(f"{path} cannot be read as CSV: {error}.") from error
    names, separator = max(splits, key=lambda split: len(split[0]))
    # DuckDB has no column without a name.
    return RowFile(path, tuple(n or " " * (p + 1) for p, n in enumerate(names)), separator)


def _csv_layout_at(address: str) -> RowFile:
    """Let DuckDB look at the beginning of a file that is not on this machine."""
    statement = (
        "SELECT Delimiter, list_transform(Columns, lambda c: c.name) "
        f"FROM sniff_csv({text_literal(address)}, header=true, all_varchar=true)"
    )
    with explained():
        separator, names = import_duckdb().connect(":memory:").sql(statement).fetchall()[0]
    return RowFile(address, tuple(names), separator)
