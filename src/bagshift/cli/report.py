# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift report``: one page about a model that can be sent to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained
from bagshift.cli.predict import Model


@explained
def report(
    model: Model,
    target: options.Target,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The page to write, .html."),
    ],
    bag: options.BagAsAtFit = None,
    shares: options.Shares = None,
    shares_bag: options.SharesBag = None,
    share_columns: options.ShareColumns = None,
    count_columns: options.CountColumns = None,
    size_column: options.SizeColumn = None,
    noise: options.Noise = None,
    source: options.Source = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", metavar="COLUMN", help="Labels of the history; by default as at the fit."
        ),
    ] = None,
    on_unmatched: options.Unmatched = options.OnUnmatched.RAISE,
    include_rows: Annotated[
        bool,
        typer.Option("--include-rows", help="Put predictions of single rows into the page."),
    ] = False,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Of the resampling.")] = 0,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write one page about a model, to send to a colleague.

    It says how shares are met, how good predictions are without labels,
    whether the history helped and what shares disclose. It is one file that
    needs no network, and has no data of single rows unless --include-rows
    asks for them.
    """
    share_column = options.only_one(share_columns, "bagshift report")
    count_column = options.only_one(count_columns, "bagshift report")
    if label is not None and source is None:
        raise typer.BadParameter("--label is the column of labels of --source; give both.")
    if output.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"--output must end in .html: {output.name}.")
    from bagshift.cli._files import check_inputs, check_output, loading
    from bagshift.cli._screen import Screen, printable
    from bagshift.workflows.first_look import look_first

    screen = Screen(quiet)
    options.check_share_options(shares, shares_bag, share_column, count_column)
    check_output(output, model, target, shares, source)
    check_inputs(model, target, shares, source)
    law = None if noise is None else options.noise_request(noise)
    look_first(
        model,
        target,
        order="MODEL --target ROWS",
        bag=bag,
        shares=shares,
        shares_bag=shares_bag,
        share_columns=(share_column, count_column, size_column, law.column if law else None),
    )
    with loading(model, quiet):
        from bagshift.workflows.models import open_model, require_two_classes
        from bagshift.workflows.reporting import report_on

        saved, notes = open_model(model)
    require_two_classes(saved, "bagshift report")
    request = options.bag_request(
        target,
        options.bag_as_at_fit(bag, saved.manifest.bag_column),
        shares,
        shares_bag,
        share_column,
        count_column,
        size_column,
        on_unmatched,
        noise,
    )
    for note in notes:
        screen.say(note)
    with screen.progress("Report") as progress:
        page = report_on(
            saved,
            request,
            source=source,
            label=label,
            include_rows=include_rows,
            seed=seed,
            progress=progress,
        )
    page.save(output)
    facts = [
        ("warning" if not i else "", printable(words)) for i, words in enumerate(page.warnings)
    ]
    size = len(page.html.encode()) / 1e6
    screen.facts([*facts, ("saved", f"{output} ({size:.1f} MB)")])
