# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift predict``: from a model and rows to labels, probabilities and decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Written by `bagshift fit`.")]


@explained
def predict(
    model: Model,
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help="Rows to classify.")],
    output: options.Output,
    id_column: options.Id = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Predict the label of every row of a CSV or Parquet file.

    The output has the id column, the label, a probability for each class
    (when the method has probabilities) and the decision value.
    """
    from bagshift.cli._files import check_inputs, check_output, loading
    from bagshift.cli._screen import Screen
    from bagshift.exceptions import plural
    from bagshift.tables import check_ending, write_table

    screen = Screen(quiet)
    check_ending(output)
    check_output(output, model, rows)
    check_inputs(model, rows)
    # These take seconds to import; trouble with the names should be told at once.
    with loading(model, quiet):
        from bagshift.workflows.models import open_model
        from bagshift.workflows.prediction import LABEL, predict_rows, read_model_rows

        saved, notes = open_model(model)
    read = read_model_rows(rows, saved.manifest, text_columns=(id_column,))
    result = predict_rows(saved, read, id_column=id_column)
    write_table(result, output)
    for note in [*notes, *read.notes]:
        screen.say(note)
    positive = saved.manifest.positive
    n_positive = int((result[LABEL] == positive).sum())
    screen.facts(
        [
            ("rows", f"{result.height:,}, of which {n_positive:,} are {positive}"),
            ("columns", ", ".join(result.columns)),
            ("saved", f"{output} ({plural(result.height, 'row')})"),
        ]
    )
