# SPDX-License-Identifier: BSD-3-Clause
"""Predictions for the rows of a file.

Rows are scored some at a time, as many as follow from the model alone. A product of matrices may
be rounded otherwise with another number of rows; so a file that is read in pieces gives the same
digits as one that is read whole.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline

from bagshift.columns import NamedTable, as_kinds
from bagshift.estimators._class_scores import best_places
from bagshift.exceptions import TableError, name_some
from bagshift.persistence import Manifest, SavedModel
from bagshift.tables import read_table, require_columns

ROW = "row"
LABEL = "label"
PROBABILITY = "probability_"
DECISION = "decision"

# Numbers that the features of the rows scored at a time are, and how many rows that may be.
SCORED_NUMBERS = 2**21
FEWEST_ROWS, MOST_ROWS = 2_048, 65_536


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
    as_text = columns_of_text(manifest, text_columns)
    table = NamedTable(read_table(path, text_columns=as_text), path.name)
    X = as_kinds(table, manifest.columns)
    return ModelRows(table, X, column_notes(table.frame.columns, manifest, as_text))


def columns_of_text(manifest: Manifest, more: Collection[str | None] = ()) -> list[str]:
    """Return the columns of a CSV file that are text whatever they hold.

    Parameters
    ----------
    manifest : Manifest
    more : collection of str or None, default=()
        Further ones.

    Returns
    -------
    list of str
    """
    names = (
        manifest.bag_column,
        manifest.id_column,
        manifest.label_column,
        *more,
        *(name for name, kind in manifest.columns.items() if kind == "text"),
    )
    return [name for name in names if name]


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
        probabilities) and ``decision``; a positive decision means the positive class. Of more
        than two classes there is ``decision_<class>`` for each, and the highest one is the label.

    Raises
    ------
    TableError
        When the id column is missing or has the name of a column of the result.
    """
    n_rows = rows_at_a_time(saved)
    starts = range(0, rows.X.height, n_rows)
    found = pl.concat(
        [predicted_columns(saved, rows.X[start : start + n_rows]) for start in starts]
    )
    return with_row_names(found, rows.table, saved.manifest, id_column)


def rows_at_a_time(saved: SavedModel) -> int:
    """Return how many rows a model scores at a time.

    Parameters
    ----------
    saved : SavedModel

    Returns
    -------
    int
    """
    model = saved.model
    machine = model[-1] if isinstance(model, Pipeline) else model
    n_features = getattr(machine, "n_features_in_", len(saved.manifest.columns))
    return min(max(SCORED_NUMBERS // max(n_features, 1), FEWEST_ROWS), MOST_ROWS)


def predicted_columns(saved: SavedModel, X: pl.DataFrame) -> pl.DataFrame:
    """Predict some rows, all at once.

    Parameters
    ----------
    saved : SavedModel
    X : polars.DataFrame of n_rows
        The model's columns, in its order.

    Returns
    -------
    polars.DataFrame of n_rows
        Label, probabilities (when the machine has them) and decision.
    """
    names = _probability_columns(saved)
    scores = np.asarray(saved.model.decision_function(X), dtype=np.float64)
    # Labels from the same scores, so that label, probability and decision always agree.
    labels = [saved.manifest.classes[place] for place in best_places(scores)]
    columns = [pl.Series(LABEL, labels)]
    if names:
        probabilities = saved.model.predict_proba(X)
        columns += [pl.Series(name, probabilities[:, k]) for k, name in enumerate(names)]
    if scores.ndim == 2:
        columns += [
            pl.Series(f"{DECISION}_{label}", scores[:, k])
            for k, label in enumerate(saved.manifest.classes)
        ]
        return pl.DataFrame(columns)
    towards_positive = 1.0 if saved.manifest.positive == saved.manifest.classes[1] else -1.0
    columns.append(pl.Series(DECISION, towards_positive * scores))
    return pl.DataFrame(columns)


def with_row_names(
    found: pl.DataFrame,
    table: NamedTable,
    manifest: Manifest,
    id_column: str | None,
    *,
    first_row: int = 1,
) -> pl.DataFrame:
    """Put what names the rows in front of what is predicted of them.

    Parameters
    ----------
    found : polars.DataFrame of n_rows
    table : NamedTable
        The rows as read.
    manifest : Manifest
    id_column : str or None
        As :func:`predict_rows` takes it.
    first_row : int, default=1
        Number of the first row, where numbers name them.

    Returns
    -------
    polars.DataFrame of n_rows

    Raises
    ------
    TableError
        When the id column is missing or has the name of a column of the result.
    """
    name = name_of_rows(table.frame.columns, table.name, manifest, id_column)
    check_row_name(name or ROW, found.columns)
    if name is None:
        numbers = pl.Series(ROW, range(first_row, first_row + found.height), dtype=pl.Int64)
        return found.insert_column(0, numbers)
    return found.insert_column(0, table.frame[name])


def name_of_rows(
    columns: Collection[str], table: str, manifest: Manifest, id_column: str | None
) -> str | None:
    """Return the column that names the rows, None where their numbers do.

    Parameters
    ----------
    columns : collection of str
        Columns of the table.
    table : str
        What to call it.
    manifest : Manifest
    id_column : str or None
        As :func:`predict_rows` takes it.

    Returns
    -------
    str or None

    Raises
    ------
    TableError
        When the column is missing.
    """
    if id_column:
        require_columns(pl.DataFrame(schema=list(columns)), [id_column], table)
        return id_column
    return manifest.id_column if manifest.id_column in columns else None


def check_row_name(name: str, columns: Collection[str]) -> None:
    """Raise when the column that names the rows has the name of one of the result.

    Parameters
    ----------
    name : str
        The column, or what their numbers are called.
    columns : collection of str
        Columns of the result.

    Raises
    ------
    TableError
        When it has.
    """
    if name in columns:
        raise TableError(
            f"The id column {name!r} has the name of a column of the result; rename it."
        )


def _probability_columns(saved: SavedModel) -> list[str]:
    if not hasattr(saved.model, "predict_proba"):
        return []
    return [f"{PROBABILITY}{label}" for label in saved.manifest.classes]


def column_notes(names: Collection[str], manifest: Manifest, roles: Collection[str]) -> list[str]:
    """Say what is unlike the table of the fit.

    Parameters
    ----------
    names : collection of str
        Columns of the table, in their order.
    manifest : Manifest
    roles : collection of str
        Columns that play another part than that of a feature.

    Returns
    -------
    list of str
    """
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
