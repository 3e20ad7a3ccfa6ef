# SPDX-License-Identifier: BSD-3-Clause
"""Predictions for the rows of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bagshift.columns import NamedTable, as_kinds
from bagshift.exceptions import TableError, name_some
from bagshift.persistence import Manifest, SavedModel
from bagshift.tables import read_table, require_columns

ROW = "row"
LABEL = "label"
PROBABILITY = "probability_"
DECISION = "decision"


@dataclass(frozen=True)
class ModelRows:
    """Rows of a file, brought to the columns of a model.

    Attributes
    ----------
    table : NamedTable
        The file as read.
    X : polars.DataFrame
        The model's columns, in its order.
    notes : list of str
        What was done to the columns.
    """

    table: NamedTable
    X: pl.DataFrame
    notes: list[str]


def read_model_rows(
    path: Path, manifest: Manifest, *, text_columns: tuple[str | None, ...] = ()
) -> ModelRows:
    """Read rows for a model.

    Parameters
    ----------
    path : Path
        CSV or Parquet file.
    manifest : Manifest
        Of the model: its columns are matched by name.
    text_columns : tuple of str or None, default=()
        Further columns to keep as text; bag, id and label columns are kept anyway.

    Returns
    -------
    ModelRows

    Raises
    ------
    TableError
        When a column is missing or cannot be read as the kind it had.
    """
    as_text = (
        manifest.bag_column,
        manifest.id_column,
        manifest.label_column,
        *text_columns,
        *(name for name, kind in manifest.columns.items() if kind == "text"),
    )
    frame = read_table(path, text_columns=[name for name in as_text if name])
    table = NamedTable(frame, path.name)
    X = as_kinds(table, manifest.columns)
    return ModelRows(table, X, _notes(frame.columns, manifest, [*as_text]))


def predict_rows(
    saved: SavedModel, rows: ModelRows, *, id_column: str | None = None
) -> pl.DataFrame:
    """Predict every row.

    Parameters
    ----------
    saved : SavedModel
        A loaded model.
    rows : ModelRows
        Rows in its columns.
    id_column : str, optional
        Column that names the rows; by default the one named at the fit, else row numbers.

    Returns
    -------
    polars.DataFrame of n_rows
        The id, ``label``, ``probability_<class>`` for each class (when the machine has
        probabilities) and ``decision``; a positive decision means the positive class.

    Raises
    ------
    TableError
        When the id column is missing or has the name of a column of the result.
    """
    names = _probability_columns(saved)
    scores = np.asarray(saved.model.decision_function(rows.X), dtype=np.float64)
    # Labels from the same scores, so that label, probability and decision always agree.
    labels = [saved.manifest.classes[int(score > 0)] for score in scores]
    columns = [_row_names(rows.table, saved.manifest, id_column), pl.Series(LABEL, labels)]
    if names:
        probabilities = saved.model.predict_proba(rows.X)
        columns += [pl.Series(name, probabilities[:, k]) for k, name in enumerate(names)]
    towards_positive = 1.0 if saved.manifest.positive == saved.manifest.classes[1] else -1.0
    columns.append(pl.Series(DECISION, towards_positive * scores))
    if columns[0].name in {column.name for column in columns[1:]}:
        raise TableError(
            f"The id column {columns[0].name!r} has the name of a column of the result; rename it."
        )
    return pl.DataFrame(columns)


def _probability_columns(saved: SavedModel) -> list[str]:
    if not hasattr(saved.model, "predict_proba"):
        return []
    return [f"{PROBABILITY}{label}" for label in saved.manifest.classes]


def _row_names(table: NamedTable, manifest: Manifest, id_column: str | None) -> pl.Series:
    if id_column:
        require_columns(table.frame, [id_column], table.name)
        return table.frame[id_column]
    if manifest.id_column in table.frame.columns:
        return table.frame[manifest.id_column]
    return pl.Series(ROW, range(1, table.frame.height + 1))


def _notes(names: list[str], manifest: Manifest, roles: list[str | None]) -> list[str]:
    notes = []
    wanted = list(manifest.columns)
    if [name for name in names if name in manifest.columns] != wanted:
        notes.append("Columns stand in another order than at the fit; they were matched by name.")
    known = {*manifest.columns, *manifest.fit.get("ignored_columns", ()), *roles}
    extra = [name for name in names if name not in known]
    if extra:
        some, verb = ("Column", "is") if len(extra) == 1 else ("Columns", "are")
        notes.append(f"{some} {name_some(extra)} {verb} not part of the model; ignored.")
    return notes
