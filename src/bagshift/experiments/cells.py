# SPDX-License-Identifier: BSD-3-Clause
"""The results of one method on one draw, and the file that keeps them.

A *cell* is appended to the file as soon as it is known, as one line in one write, so a run that
is killed loses at most the cells it was working on, and another run goes on from what is there.
A line that was cut short, or that is none of a cell, is passed over.
Line breaks within a text become blanks. Text that a spreadsheet would run as a formula has an
apostrophe in front in the file, and not when it is read.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from bagshift.exceptions import TableError

CellKey = tuple[str, str, int, str, int]


@dataclass(frozen=True)
class Cell:
    """One method on one draw of one task.

    Attributes
    ----------
    task : str
        Name of the task.
    bags : {"random", "clustered", "feature", "natural", "skewed"}
        How its bags were made.
    bag_size : int
        Rows per bag; 0 for natural bags, whose sizes differ.
    method : str
        Name of the method.
    draw : int
        Number of the draw, which is its seed.
    status : {"done", "impossible", "failed"}
        "impossible" where a method cannot be used on such data, "failed" after an error.
    fresh : float
        Accuracy on target rows of no bag; NaN unless done.
    in_sample : float
        Accuracy on the bagged rows, whose shares were trained on; NaN unless done.
    chosen : str
        The parameters chosen, as ``name=value`` with blanks between.
    reason : str
        Why it is impossible, or the error; else empty.
    seconds : float
        CPU seconds of choosing parameters and fitting.
    finished : str
        When it was known, in ISO 8601 and UTC.
    version : str
        Of bagshift.
    """

    task: str
    bags: str
    bag_size: int
    method: str
    draw: int
    status: Literal["done", "impossible", "failed"]
    fresh: float
    in_sample: float
    chosen: str
    reason: str
    seconds: float
    finished: str
    version: str

    @property
    def key(self) -> CellKey:
        """What it is a result of: task, bags, bag size, method, draw."""
        return self.task, self.bags, self.bag_size, self.method, self.draw


# What is not a result: it differs when the same cell is computed again.
CIRCUMSTANCES = ("seconds", "finished", "version")
# With apostrophes before it, so that those of the text itself are kept.
FORMULA = re.compile(r"'*[=+\-@]")


def read_cells(path: Path) -> dict[CellKey, Cell]:
    """Return the cells of a file, the last of each key; none if there is no file.

    Parameters
    ----------
    path : Path
        A CSV file that :func:`append_cell` wrote.

    Returns
    -------
    dict of tuple to Cell
        By :attr:`Cell.key`.

    Raises
    ------
    TableError
        When there is a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            # Line by line: an open quote in a line cut short would swallow the lines after it.
            cells = [cell for line in file if (cell := _cell_of(line))]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from error
    return {cell.key: cell for cell in cells}


def append_cell(cell: Cell, path: Path) -> None:
    """Append a cell to a file in one write, which no other process can tear.

    Parameters
    ----------
    cell : Cell
        The cell.
    path : Path
        A CSV file; made when it does not exist.

    Raises
    ------
    TableError
        When it cannot be written to.
    """
    try:
        is_whole = _append(cell, path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from error
    if not is_whole:
        raise TableError(f"{path} cannot be written: there is no space left.")


def _append(cell: Cell, path: Path) -> bool:
    """Append a cell; return whether all of it was written."""
    text = ""
    if not path.exists() or path.stat().st_size == 0:
        text = _line(field.name for field in fields(Cell))
    elif not _ends_a_line(path):
        text = "\n"  # after a line that was cut short
    text += _line(_in_file(getattr(cell, field.name)) for field in fields(Cell))
    data = text.encode(errors="backslashreplace")
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        return os.write(file, data) == len(data)
    finally:
        os.close(file)


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _line(values: Iterable[Any]) -> str:
    text = io.StringIO(newline="")
    in_one_line = (" ".join(str(value).splitlines()) for value in values)
    csv.writer(text, lineterminator="\n").writerow(in_one_line)
    return text.getvalue()


def _in_file(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def _from_file(text: str) -> str:
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def _cell_of(line: bytes) -> Cell | None:
    """Return the cell of a line, None for the header and for what is no whole line of a cell."""
    kinds = get_type_hints(Cell)
    try:
        texts = next(csv.reader([line.decode()]), [])
        if not line.endswith(b"\n") or len(texts) != len(kinds):
            return None
        values: dict[str, Any] = {
            name: kind(text) if kind in (int, float) else _from_file(text)
            for (name, kind), text in zip(kinds.items(), texts, strict=True)
        }
    except (ValueError, csv.Error):
        return None
    return Cell(**values) if values["status"] in get_args(kinds["status"]) else None
