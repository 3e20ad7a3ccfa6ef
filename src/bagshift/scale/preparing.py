# SPDX-License-Identifier: BSD-3-Clause
"""How the columns of two tables become features, found once and kept."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bagshift.atomic import whole_file
from bagshift.exceptions import TableError
from bagshift.scale._manifest import begin
from bagshift.scale._relation import file_marks
from bagshift.scale._streaming import Progress
from bagshift.scale.preparation import Preparation, prepare
from bagshift.scale.rows import Rows
from bagshift.scale.statistics import column_statistics

FILE = "columns.json"


@dataclass(frozen=True)
class PreparedTables:
    """How the columns of the target and the history become features.

    Attributes
    ----------
    preparation : Preparation
        With the columns that are not read, and why.
    n_target, n_source : int
        Rows of both tables.
    """

    preparation: Preparation
    n_target: int
    n_source: int


def prepare_tables(
    connection: Any,
    target: Rows,
    source: Rows | None,
    folder: str | Path,
    *,
    reserved: Mapping[str, str] | None = None,
    only: Collection[str] = (),
    progress: Progress | None = None,
) -> PreparedTables:
    """Look at all columns and decide how they become features, unless the folder says it already.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        As :func:`~bagshift.scale.connection.connect` gives it.
    target : Rows
        Rows to classify.
    source : Rows or None
        Labelled history.
    folder : str or Path
        Folder of the result; it is made if it is not there.
    reserved : mapping of str to str, optional
        Columns that play another part, and which.
    only : collection of str, default=()
        Use exactly these columns.
    progress : callable, optional
        Called with the number of rows read and of all.

    Returns
    -------
    PreparedTables

    Raises
    ------
    TableError
        As :func:`column_statistics` and :func:`prepare` do, and when the folder was begun with
        other files or settings.
    """
    tables = [table for table in (target, source) if table is not None]
    marks = [file_marks(table) for table in tables]
    settings = {"result": "columns", "reserved": dict(reserved or {}), "only": list(only)}
    inputs = [mark for part in marks for mark in part]
    manifest = begin(folder, settings, inputs if all(table.files for table in tables) else None)
    file = manifest.folder / FILE
    if manifest.done and file.exists():
        return _read(file)
    statistics = column_statistics(
        connection, target, source, reserved=reserved, only=only, progress=progress
    )
    n_target, *n_source = statistics.n_rows
    found = PreparedTables(prepare(statistics), n_target, sum(n_source))
    with whole_file(file) as draft:
        draft.write_text(json.dumps(asdict(found), ensure_ascii=False), encoding="utf-8")
    manifest.finished()
    return found


def _read(file: Path) -> PreparedTables:
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        preparation = Preparation.from_json(json.dumps(facts["preparation"]))
        return PreparedTables(preparation, int(facts["n_target"]), int(facts["n_source"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TableError(f"{file} is damaged: delete {file.parent} to begin anew.") from error
