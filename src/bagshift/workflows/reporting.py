# SPDX-License-Identifier: BSD-3-Clause
"""From a model file and tables to a page about the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bagshift.columns import NamedTable, as_kinds
from bagshift.exceptions import TableError, name_some
from bagshift.persistence import SavedModel
from bagshift.report import Report, make_report
from bagshift.report.sections import Table
from bagshift.tables import read_table
from bagshift.workflows.bag_check import check_bag_sheet, raise_first_error
from bagshift.workflows.bag_sheet import read_bag_sheet
from bagshift.workflows.in_bags import with_noise_at_fit
from bagshift.workflows.inputs import make_bags
from bagshift.workflows.labels import read_labels
from bagshift.workflows.prediction import columns_of_text, predict_rows, read_model_rows
from bagshift.workflows.requests import BagRequest

__all__ = ["report_on"]

# Of more rows these stand in the page; all of them are in its download.
MOST_ROWS_SHOWN = 500


def report_on(
    saved: SavedModel,
    request: BagRequest,
    *,
    source: Path | None = None,
    label: str | None = None,
    include_rows: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Make a page about a model, its bags and its history.

    Parameters
    ----------
    saved : SavedModel
        A loaded model.
    request : BagRequest
        The target rows and where the shares of their bags are.
    source : Path, optional
        Labelled history that the model was fitted with.
    label : str, optional
        Its column of labels; that of the fit when None.
    include_rows : bool, default=False
        Whether predictions of single rows stand in the page.
    seed : int, default=0
    progress : callable, optional
        Called with (done, total) steps.

    Returns
    -------
    Report

    Raises
    ------
    TableError, BagError
        When the files cannot be used.
    """
    manifest = saved.manifest
    rows = read_model_rows(request.target, manifest, text_columns=(request.bag,))
    request = with_noise_at_fit(request, saved)
    sheet = read_bag_sheet(request, rows.table)
    findings = check_bag_sheet(sheet)
    raise_first_error(findings, drop=request.on_unmatched == "drop")
    negative = next(name for name in manifest.classes if name != manifest.positive)
    bags = make_bags(sheet, negative, manifest.positive)
    encode, machine = saved.model[:-1], saved.model[-1]
    history = None
    notes = [*rows.notes, *(finding.text for finding in findings if finding.level != "note")]
    read = [("target file", request.target.name)]
    if request.shares is not None:
        read.append(("shares file", request.shares.name))
    if source is not None:
        history = _read_history(saved, source, label)
        history = (encode.transform(history[0]), history[1])
        read.append(("history file", source.name))
    elif manifest.label_column is not None:
        notes.append(
            "This model was fitted with labelled history, which was not given here (--source): "
            "what follows of single predictions is of machines fitted without it."
        )
    columns = list(manifest.columns)
    read.append(("columns", f"{len(columns):,}: {name_some(columns, 8)}"))
    table = None
    if include_rows:
        predictions = predict_rows(saved, rows, id_column=manifest.id_column)
        shown = predictions.head(MOST_ROWS_SHOWN)
        title = "Predictions" + (
            f", the first {MOST_ROWS_SHOWN:,}" if len(shown) < len(predictions) else ""
        )
        table = Table(title, shown, "predictions", predictions)
    return make_report(
        machine,
        encode.transform(rows.X),
        bags,
        source=history,
        title=f"Report on {request.target.name}",
        read=read,
        settings=_settings(manifest.fit),
        warnings=notes,
        rows=table,
        random_state=seed,
        progress=progress,
    )


def _settings(fit: dict[str, Any]) -> list[tuple[str, str]]:
    return [("fitted on a stream of files", "yes")] if fit.get("is_streamed") else []


def _read_history(saved: SavedModel, path: Path, label: str | None) -> tuple[Any, Any]:
    """Read labelled rows in the columns of a model, and their labels."""
    manifest = saved.manifest
    if manifest.label_column is None:
        raise TableError(
            f"This model was fitted without labelled history, so {path.name} says nothing of it; "
            "leave out --source."
        )
    column = label or manifest.label_column
    as_text = columns_of_text(manifest, (column,))
    table = NamedTable(read_table(path, text_columns=as_text), path.name)
    labels = read_labels(table, column, str(manifest.positive))
    kept = NamedTable(table.frame.filter(labels.has_label), path.name)
    classes = {labels.negative, labels.positive}
    if classes != set(manifest.classes):
        raise TableError(
            f"Column {column!r} of {path.name} holds {name_some(sorted(map(str, classes)))}; the "
            f"model tells {name_some(sorted(map(str, manifest.classes)))} apart."
        )
    return as_kinds(kept, manifest.columns), labels.values
