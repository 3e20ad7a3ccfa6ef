# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift predict``: from a model and rows to labels, probabilities and decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained, say_error

if TYPE_CHECKING:
    from polars import DataFrame

    from bagshift.cli._screen import Screen
    from bagshift.persistence import Manifest
    from bagshift.workflows.in_bags import InBagPredictions
    from bagshift.workflows.requests import BagRequest

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Written by `bagshift fit`.")]


@explained
def predict(
    model: Model,
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="ROWS", help="Rows to classify; with --memory also a folder or a pattern."
        ),
    ],
    output: options.Output,
    id_column: options.Id = None,
    bag: options.BagAsAtFit = None,
    shares: options.Shares = None,
    shares_bag: options.SharesBag = None,
    share_column: options.ShareColumns = None,
    count_column: options.CountColumns = None,
    other: options.Other = None,
    size_column: options.SizeColumn = None,
    noise: options.Noise = None,
    on_unmatched: options.Unmatched = options.OnUnmatched.RAISE,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Read files and folders bigger than memory and hold no more than this, "
            "such as 4GB.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Predict the label of every row of a CSV or Parquet file.

    The output has the id column, the label, a probability for each class
    (when the method has probabilities) and the decision value.

    With the shares of the rows' own bags (--share-column or --count-column,
    and --shares for another file) it also has label_in_bag and
    probability_in_bag_<class>: what is known of a row once the share of its
    bag is. All rows of a bag must be there, unless --size-column says how
    many there are.

    With --memory the rows are read, predicted and written piece by piece.
    """
    from bagshift.cli._files import check_inputs, check_output, loading
    from bagshift.cli._screen import Screen
    from bagshift.tables import check_ending, write_table
    from bagshift.workflows.first_look import look_first

    screen = Screen(quiet)
    by_shares = bool(share_column or count_column)
    if not by_shares and any((bag, shares, shares_bag, size_column, noise, other)):
        raise typer.BadParameter(
            "to predict with the shares of bags give --share-column or --count-column."
        )
    options.check_memory(memory)
    check_ending(output)
    if memory is not None:
        if by_shares:
            raise typer.BadParameter(
                "--memory predicts rows from their columns alone; leave out the shares of bags, "
                "or predict some whole bags at a time without --memory."
            )
        _predict_streamed(model, rows, output, id_column, memory, screen)
        return
    check_output(output, model, rows, shares)
    check_inputs(model, rows, shares)
    # The model takes seconds to load; trouble with the names should be told at once.
    options.check_share_options(
        shares, shares_bag, options.first_of(share_column), options.first_of(count_column)
    )
    law = None if noise is None else options.noise_request(noise)
    look_first(
        model,
        rows,
        order="MODEL ROWS",
        wanted=(id_column,),
        bag=bag,
        shares=shares,
        shares_bag=shares_bag,
        share_columns=(
            *(share_column or ()),
            *(count_column or ()),
            size_column,
            law.column if law else None,
        ),
    )
    with loading(model, quiet):
        from bagshift.workflows.models import open_model
        from bagshift.workflows.prediction import predict_rows, read_model_rows

        saved, notes = open_model(model)
    request = None
    if by_shares:
        request = options.with_classes(
            options.bag_request(
                rows,
                options.bag_as_at_fit(bag, saved.manifest.bag_column),
                shares,
                shares_bag,
                options.first_of(share_column),
                options.first_of(count_column),
                size_column,
                on_unmatched,
                noise,
            ),
            share_column or count_column,
            other,
        )
    read = read_model_rows(
        rows, saved.manifest, text_columns=(id_column, request.bag if request else None)
    )
    result = predict_rows(saved, read, id_column=id_column)
    found = None
    if request is not None:
        from bagshift.workflows.in_bags import add_columns, predict_in_known_bags

        found = predict_in_known_bags(saved, read, request)
        result = add_columns(result, found.columns)
    write_table(result, output)
    for note in [*notes, *read.notes]:
        screen.say(note)
    _show(screen, result, saved.manifest, output, request, found)


def _predict_streamed(
    model: Path, rows: Path, output: Path, id_column: str | None, memory: str, screen: Screen
) -> None:
    from bagshift.cli._files import check_inputs, check_output, loading
    from bagshift.exceptions import plural

    check_output(output, model)
    check_inputs(model)
    with loading(model, screen.quiet):
        from bagshift.workflows.models import open_model
        from bagshift.workflows.streamed_prediction import predict_streamed

        saved, notes = open_model(model)
    with screen.progress("Predicting", "rows") as progress:
        found = predict_streamed(
            saved, rows, output, memory=memory, id_column=id_column, progress=progress
        )
    for note in [*notes, *found.notes]:
        screen.say(note)
    positive = saved.manifest.positive
    of_which = "" if positive is None else f", of which {found.n_positive:,} are {positive}"
    screen.facts(
        [
            ("rows", f"{found.n_rows:,}{of_which}"),
            ("columns", ", ".join(found.columns)),
            ("saved", f"{output} ({plural(found.n_rows, 'row')})"),
        ]
    )


def _show(
    screen: Screen,
    result: DataFrame,
    manifest: Manifest,
    output: Path,
    request: BagRequest | None,
    found: InBagPredictions | None,
) -> None:
    from bagshift.cli._echo import echo_findings
    from bagshift.cli._screen import printable
    from bagshift.exceptions import plural
    from bagshift.workflows.prediction import LABEL

    shown = manifest.classes if manifest.positive is None else (manifest.positive,)
    of_classes = ", ".join(f"{_n(result, LABEL, label)} are {label}" for label in shown)
    facts = [("rows", f"{result.height:,}, of which {of_classes}")]
    if request is not None and found is not None:
        facts += _in_bag_facts(result, shown, request, found)
    screen.facts(
        [
            *facts,
            ("columns", ", ".join(result.columns)),
            ("saved", f"{output} ({plural(result.height, 'row')})"),
        ]
    )
    if request is not None and found is not None:
        # Warnings are about what bags can teach, and nothing is learned here.
        errors = [finding for finding in found.findings if finding.level == "error"]
        echo_findings(errors, drop=request.on_unmatched == "drop")
        for note in found.notes:
            say_error(f"Warning: {printable(note)}")


def _in_bag_facts(
    result: DataFrame, shown: tuple[Any, ...], request: BagRequest, found: InBagPredictions
) -> list[tuple[str, str]]:
    from bagshift.cli._echo import bag_facts
    from bagshift.exceptions import plural
    from bagshift.workflows.in_bags import LABEL_IN_BAG, PROBABILITY_IN_BAG

    (_, rows_in_bags), *more = bag_facts(found.bags, request)
    given = [
        f"{result[f'{PROBABILITY_IN_BAG}{label}'].sum():,.0f} rows are expected to be "
        f"{label}; {_n(result, LABEL_IN_BAG, label)} are likelier {label} than "
        f"{'not' if len(shown) == 1 else 'any other class'}"
        for label in shown
    ]
    facts = [
        ("in bags", rows_in_bags),
        *more,
        *(("given the share" if not at else "", line) for at, line in enumerate(given)),
        (
            "",
            "the ..._in_bag columns use the share of the row's own bag, which fresh rows come "
            "without: never quote the accuracy of one for the other",
        ),
    ]
    outside = len(found.bags) - len(found.bags.rows_in_bags())
    if outside:
        facts.append(("", f"{plural(outside, 'row')} in no bag: the plain probability stands"))
    return facts


def _n(result: DataFrame, column: str, positive: Any) -> str:
    return f"{int((result[column] == positive).sum()):,}"
