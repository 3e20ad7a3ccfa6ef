# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift privacy``: what published shares disclose about the labels of individuals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained, say_error

EXACT = "none"


@explained
def privacy(
    target: Annotated[
        Path, typer.Option("--target", metavar="FILE", help="The individuals; CSV or Parquet.")
    ],
    bag: Annotated[
        list[str],
        typer.Option("--bag", metavar="COLUMN", help="Bag id: one for all, or one per release."),
    ],
    release: Annotated[
        list[Path] | None,
        typer.Option(
            "--release",
            "--shares",
            metavar="FILE",
            help="One row per bag; again for each release. Without it, a column of the target.",
        ),
    ] = None,
    shares_bag: Annotated[
        list[str] | None,
        typer.Option(
            "--shares-bag", metavar="COLUMN", help="Bag id in the release, if named otherwise."
        ),
    ] = None,
    share_column: Annotated[
        list[str] | None,
        typer.Option("--share-column", metavar="COLUMN", help="Share of positives, 0 to 1."),
    ] = None,
    count_column: Annotated[
        list[str] | None,
        typer.Option("--count-column", metavar="COLUMN", help="Or: number of positives."),
    ] = None,
    size_column: Annotated[
        list[str] | None,
        typer.Option(
            "--size-column", metavar="COLUMN", help="Bag size, if larger than the rows at hand."
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            "--noise",
            metavar="LAW:NAME=VALUE",
            help="What was done to the numbers, as in `bagshift fit`; none for exact ones.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="What would noise of this epsilon cost?"),
    ] = None,
    classes: Annotated[
        int, typer.Option(metavar="NUMBER", min=2, help="How many classes there are.")
    ] = 2,
    max_cells: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=0, help="How large a part of three releases is searched."
        ),
    ] = None,
    on_unmatched: options.Unmatched = options.OnUnmatched.RAISE,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write a table of the bags."),
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Find out what shares disclose about single rows.

    Options of releases are given once for all of them, or once for each, in one order.
    """
    from bagshift.cli._files import check_inputs, check_output
    from bagshift.cli._screen import Screen, printable

    columns = share_column or count_column or []
    n_releases = max(len(release or []), len(bag), len(columns))
    each = partial(_one_each, n_releases)
    requests = [
        options.bag_request(
            target,
            bags,
            shares,
            id_in_shares,
            share,
            count,
            size,
            on_unmatched,
            None if law in (None, EXACT) else law,
        )
        for bags, shares, id_in_shares, share, count, size, law in zip(
            each("bag", bag),
            each("release", release),
            each("shares-bag", shares_bag),
            each("share-column", share_column),
            each("count-column", count_column),
            each("size-column", size_column),
            each("noise", noise),
            strict=True,
        )
    ]
    if epsilon is not None and not 1e-9 <= epsilon < float("inf"):
        raise typer.BadParameter("--epsilon must be a positive number.")
    check_inputs(target, *(release or []))
    if output is not None:
        check_output(output, target, *(release or []))
    from bagshift.cli._echo import echo_findings
    from bagshift.inspection._privacy_text import privacy_parts
    from bagshift.tables import write_table
    from bagshift.workflows.privacy import privacy_of_files

    found = privacy_of_files(requests, epsilon=epsilon, n_classes=classes, max_cells=max_cells)
    echo_findings(found.dropped, drop=True)
    screen = Screen(quiet)
    for warning in found.report.warnings:
        text = warning.replace("max_cells", "--max-cells")
        if quiet:
            say_error(f"Warning: {printable(text)}")
        screen.item("warning", text)
    for heading, facts in privacy_parts(found.report):
        screen.say()
        screen.heading(heading)
        screen.facts(facts)
    if output is not None:
        write_table(found.bag_frame(), output)


def _one_each(n_releases: int, option: str, values: Sequence[Any] | None) -> list[Any]:
    """Return one value for each release, the same for all if one is given; None for none."""
    if not values:
        return [None] * n_releases
    if len(values) not in (1, n_releases):
        raise typer.BadParameter(
            f"--{option} is given {len(values)} times for {n_releases} releases: give it once for "
            "all of them, or once for each."
        )
    return list(values) * (n_releases if len(values) == 1 else 1)
