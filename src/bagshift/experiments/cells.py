# SPDX-License-Identifier: BSD-3-Clause
"""The results of one method on one draw, and the file that keeps them.

A *cell* is appended to the file as soon as it is known, as one line in one write, so a run that
is killed loses at most the cells it was working on, and another run goes on from what is there.
A line that was cut short is passed over.
Line breaks within a text become blanks.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

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
    """
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        # Line by line: an open quote in a line cut short would swallow the lines after it.
        cells = [cell for line in file if (cell := _cell_of(line))]
    return {cell.key: cell for cell in cells}


def append_cell(cell: Cell, path: Path) -> None:
    """Append a cell to a file in one write, which no other process can tear.

    Parameters
    ----------
    cell : Cell
        The cell.
    path : Path
        A CSV file; made when it does not exist.
    """
    text = ""
    if not path.exists() or path.stat().st_size == 0:
        text = _line(field.name for field in fields(Cell))
    elif not _ends_a_line(path):
        text = "\n"  # after a line that was cut short
    text += _line(getattr(cell, field.name) for field in fields(Cell))
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, text.encode())
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


def _cell_of(line: str) -> Cell | None:
    """Return the cell of a line, None for the header and for a line cut short."""
    kinds = get_type_hints(Cell)
    texts = next(csv.reader([line]), [])
    if not line.endswith("\n") or len(texts) != len(kinds):
        return None
    try:
        values: dict[str, Any] = {
            name: kind(text) if kind in (int, float) else text
            for (name, kind), text in zip(kinds.items(), texts, strict=True)
        }
    except ValueError:
        return None
    return Cell(**values)
