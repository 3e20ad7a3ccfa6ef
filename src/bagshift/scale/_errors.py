# SPDX-License-Identifier: BSD-3-Clause
"""What DuckDB says about files, in one sentence that names the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bagshift.exceptions import TableError

if TYPE_CHECKING:
    from bagshift.scale.rows import Rows

INSTALL_LINE = "Files bigger than memory need more packages: pip install 'bagshift[scale]'"
LONGEST_REASON = 200
KIND_OF_ERROR = re.compile(r"^(?:[A-Z][A-Za-z]*(?: [A-Za-z]+)* Error: )+")
SEPARATE_LINES = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


def import_duckdb() -> Any:
    """Import DuckDB, or say how to install it.

    Returns
    -------
    module
    """
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError(INSTALL_LINE) from error
    return duckdb


@contextmanager
def explained(*tables: Rows) -> Iterator[None]:
    """Put what goes wrong in DuckDB while tables are read into one sentence.

    Parameters
    ----------
    *tables : Rows
        What is read within the block.

    Raises
    ------
    TableError
        In place of the errors of DuckDB, and of Arrow where it passes them on.
    KeyboardInterrupt
        Where DuckDB took note of an interrupt first.
    """
    duckdb = import_duckdb()
    try:
        yield
    # While a result is streamed, Arrow turns every error of DuckDB into one of the system.
    except (duckdb.Error, OSError) as error:
        raise TableError(sentence(str(error), tables)) from error
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from error
        raise


def sentence(text: str, tables: tuple[Rows, ...]) -> str:
    """Explain an error.

    Parameters
    ----------
    text : str
        The message of DuckDB.
    tables : tuple of Rows
        What was read.

    Returns
    -------
    str
    """
    where = _where(text, tables)
    reason = _reason(text)
    if "failed to offload" in text or "No space left" in text:
        return (
            "The disk is too full for what does not fit into memory: name another folder for it, "
            "or raise memory=."
        )
    if "Out of Memory" in text:
        return (
            "The memory given does not suffice to read these rows: raise memory=, take fewer "
            "threads (n_threads=), or leave out columns."
        )
    if "not utf-8" in text or "Invalid unicode" in text:
        return f"{where} is not UTF-8 text; save it again in UTF-8."
    if "CSV" in text:
        return f"{where} cannot be read as CSV: {_csv_reason(text)}."
    if "Could not convert string" in text:
        value = re.search(r"string ('.*?') to", text)
        held = value[1] if value else "text"
        return (
            f"{where} holds {held} in a column of numbers or dates; correct it, leave it empty, "
            "or prepare the columns on these rows."
        )
    return f"{where} cannot be read: {reason}."


def _where(text: str, tables: tuple[Rows, ...]) -> str:
    """Name the file that a message is about, or else everything that was read."""
    paths = (file.path for table in tables for file in table.files)
    named = max((path for path in paths if path in text), key=len, default=None)
    return named or " or ".join(table.name for table in tables) or "A file"


def _reason(text: str) -> str:
    reason = KIND_OF_ERROR.sub("", text.strip().splitlines()[0] if text.strip() else "no reason")
    return reason.rstrip(".:")[:LONGEST_REASON]


def _csv_reason(text: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", text)
    place = f"line {int(line[1]):,}" if line else "a line"
    fields = SEPARATE_LINES.search(text)
    if fields:
        return f"{place} does not have {fields[1]} fields but {fields[2]}"
    if "unterminated quote" in text:
        return f"{place} has a quotation mark that is not closed, or not doubled"
    if "invalid state" in text:
        return "its quotation marks or its line ends are not the same throughout"
    return f"{place}: {_reason(text)}" if line else _reason(text)
