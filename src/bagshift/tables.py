# SPDX-License-Identifier: BSD-3-Clause
"""Tables in and out: CSV and Parquet files as polars frames, with errors in one sentence."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path

import polars as pl

from bagshift.atomic import whole_file
from bagshift.exceptions import TableError, name_some

_Reader = Callable[[Path, set[str]], pl.DataFrame]
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def read_table(path: str | Path, *, text_columns: Iterable[str] = ()) -> pl.DataFrame:
    """Read a CSV or Parquet file, told apart by its ending.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.csv`` or ``.parquet``. CSV is UTF-8 with one header line; fields
        are separated by commas, semicolons or tabs, whichever gives the header more columns.
    text_columns : iterable of str, default=()
        Columns of a CSV file to keep as text, so that the id 007 stays 007. Names that the file
        does not have are ignored.

    Returns
    -------
    polars.DataFrame
        With at least one row.

    Raises
    ------
    TableError
        When the file is missing, of another kind, unreadable, empty, or names a column twice.
    """
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a CSV or Parquet file.")
    if not path.exists():
        raise TableError(f"{path} does not exist; check the name and the folder.")
    frame = _readers(path)(path, set(text_columns))
    if frame.height == 0:
        raise TableError(f"{path} has no rows; it needs at least one below the header.")
    return frame


def column_names(path: str | Path) -> list[str]:
    """Read the names of the columns of a CSV or Parquet file, and nothing else.

    Parameters
    ----------
    path : str or Path
        A file as :func:`read_table` takes it.

    Returns
    -------
    list of str

    Raises
    ------
    TableError
        When they cannot be read.
    """
    path = Path(path)
    check_ending(path)
    if _is_parquet(path):
        with _errors_as("Parquet", path):
            return list(pl.read_parquet_schema(path))
    with _errors_as("CSV", path):
        return _csv_header(path)[0]


def write_table(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a CSV or Parquet file, whole or not at all.

    In CSV, text that a spreadsheet would run as a formula (it begins with ``=``, ``+``, ``-``,
    ``@``, a tab or a carriage return, and is not a plain number) gets an apostrophe in front.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    path : str or Path
        Ends in ``.csv`` or ``.parquet``.

    Raises
    ------
    TableError
        When the ending is another one or the file cannot be written.
    """
    path = Path(path)
    check_ending(path)
    with whole_file(path) as draft:
        try:
            if _is_parquet(path):
                frame.write_parquet(draft)
            else:
                neutralise_formulas(frame).write_csv(draft)
        except pl.exceptions.PolarsError as error:
            raise TableError(f"{path} cannot be written: {_first_line(error)}.") from error


@contextmanager
def growing_table(path: str | Path) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Write a CSV or Parquet file piece by piece, whole or not at all.

    Parameters
    ----------
    path : str or Path
        As :func:`write_table` takes it; written when the block succeeds.

    Yields
    ------
    callable
        Takes the next rows, as a frame of the same columns each time.

    Raises
    ------
    TableError
        When the ending is another one or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with growing_table(f"{folder}/rows.csv") as write:
    ...         for start in (0, 2):
    ...             write(pl.DataFrame({"row": [start, start + 1]}))
    ...     read_table(f"{folder}/rows.csv")["row"].to_list()
    [0, 1, 2, 3]
    """
    path = Path(path)
    check_ending(path)
    grow = _growing_parquet if _is_parquet(path) else _growing_csv
    with whole_file(path) as draft, grow(draft) as write:
        yield write


@contextmanager
def _growing_parquet(path: Path) -> Iterator[Callable[[pl.DataFrame], None]]:
    # polars has no writer of Parquet that takes rows as they come.
    from pyarrow import parquet

    with ExitStack() as opened:
        writers: list[parquet.ParquetWriter] = []

        def write(frame: pl.DataFrame) -> None:
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
            if not writers:
                writer = parquet.ParquetWriter(path, table.schema, compression="zstd")
                writers.append(opened.enter_context(writer))
            writers[0].write_table(table)

        yield write


@contextmanager
def _growing_csv(path: Path) -> Iterator[Callable[[pl.DataFrame], None]]:
    with path.open("wb") as file:

        def write(frame: pl.DataFrame) -> None:
            neutralise_formulas(frame).write_csv(file, include_header=file.tell() == 0)

        yield write


def as_read_from_csv(text: pl.DataFrame, text_columns: Iterable[str] = ()) -> pl.DataFrame:
    """Give columns of text the types that :func:`read_table` gives them in a CSV file.

    Parameters
    ----------
    text : polars.DataFrame
        Fields of a CSV file as text.
    text_columns : iterable of str, default=()
        Columns that stay text.

    Returns
    -------
    polars.DataFrame
        Of the same columns.

    Examples
    --------
    >>> fields = pl.DataFrame({"person": ["007", "008"], "age": ["51", None]})
    >>> as_read_from_csv(fields, ["person"]).rows()
    [('007', 51), ('008', None)]
    """
    stays = set(text_columns)
    if stays.issuperset(text.columns):
        return text
    # A row that is empty but for its line end would be skipped.
    full = max((*text.columns, "row"), key=len) + "+"
    written = BytesIO()
    text.with_columns(pl.lit(0).alias(full)).write_csv(written)
    found = pl.read_csv(
        written.getvalue(),
        schema_overrides=dict.fromkeys(stays & set(text.columns), pl.String),
        infer_schema_length=None,
        try_parse_dates=True,
    )
    return found.drop(full)


def check_ending(path: str | Path) -> None:
    """Raise unless a file name ends in ``.csv`` or ``.parquet``.

    Parameters
    ----------
    path : str or Path
        Name of a file that need not exist.

    Raises
    ------
    TableError
        Naming both endings.
    """
    _readers(Path(path))


def neutralise_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    Parameters
    ----------
    frame : polars.DataFrame
        Any table.

    Returns
    -------
    polars.DataFrame
        The same table with harmless text cells and column names.
    """
    safe = frame.with_columns(
        _neutral(pl.col(name)).alias(name)
        for name, kind in frame.schema.items()
        if kind in (pl.String, pl.Categorical, pl.Enum)
    )
    return safe.rename({n: f"'{n}" for n in frame.columns if n.startswith(FORMULA_STARTS)})


def require_columns(frame: pl.DataFrame, names: Sequence[str], path: str | Path) -> None:
    """Raise unless a table has all the columns asked for.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    names : sequence of str
        Columns it must have.
    path : str or Path
        Where it was read, for the message.

    Raises
    ------
    TableError
        Naming the missing columns, the nearest existing name, and the columns there are.
    """
    missing = [name for name in names if name not in frame.columns]
    if not missing:
        return
    by_small_letters = {name.casefold().strip(): name for name in frame.columns}
    close = get_close_matches(missing[0].casefold().strip(), by_small_letters, n=1)
    hint = f" (did you mean {by_small_letters[close[0]]!r}?)" if close else ""
    some = "column" if len(missing) == 1 else "columns"
    raise TableError(
        f"{path} has no {some} {name_some(missing)}{hint}; it has {name_some(frame.columns, 12)}."
    )


def _readers(path: Path) -> _Reader:
    readers: dict[str, _Reader] = {".csv": _read_csv, ".parquet": _read_parquet}
    try:
        return readers[path.suffix.lower()]
    except KeyError:
        ending = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise TableError(f"{path} {ending}; tables are .csv or .parquet files.") from None


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _read_csv(path: Path, text_columns: set[str]) -> pl.DataFrame:
    with _errors_as("CSV", path):
        names, separator = _csv_header(path)
        _check_unique(names, path)
        return pl.read_csv(
            path,
            separator=separator,
            schema_overrides=dict.fromkeys(text_columns & set(names), pl.String),
            infer_schema_length=None,
            try_parse_dates=True,
        )


@contextmanager
def _errors_as(kind: str, path: Path) -> Iterator[None]:
    """Put what goes wrong while a file is read into one sentence."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text; save it again as CSV in UTF-8.") from error
    except pl.exceptions.NoDataError as error:
        raise TableError(f"{path} is empty.") from error
    except (OSError, csv.Error, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path} cannot be read as {kind}: {_first_line(error)}.") from error


def _csv_header(path: Path) -> tuple[list[str], str]:
    """Return column names and the separator that gives most of them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    if not line.strip():
        raise pl.exceptions.NoDataError
    splits = [(next(csv.reader([line], delimiter=mark)), mark) for mark in (",", ";", "\t")]
    return max(splits, key=lambda split: len(split[0]))


def _read_parquet(path: Path, text_columns: set[str]) -> pl.DataFrame:
    with _errors_as("Parquet", path):
        frame = pl.read_parquet(path)
    _check_unique(frame.columns, path)
    return frame


def _check_unique(names: Sequence[str], path: Path) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(
            f"{path} has more than one column {name_some(twice)}; rename or remove the doubles."
        )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _neutral(text: pl.Expr) -> pl.Expr:
    text = text.cast(pl.String)
    starts = text.str.slice(0, 1).is_in(FORMULA_STARTS)
    is_number = text.cast(pl.Float64, strict=False).is_not_null()
    return pl.when(starts & ~is_number).then("'" + text).otherwise(text)
