# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift reproduce``: the tables and figures of the paper, computed again."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import (
    INTERRUPTED,
    ended_like_interrupted,
    explained,
    require_experiments,
    say_error,
)

if TYPE_CHECKING:
    from bagshift.cli._screen import Screen
    from bagshift.experiments.paper.parts import Part, Reproduced, Request


class PartName(StrEnum):
    """Parts of the paper."""

    SYNTHETIC = "synthetic"
    TEXT = "text"
    FACES = "faces"
    SENSITIVITY = "sensitivity"
    ALL = "all"


class Rules(StrEnum):
    """Protocols."""

    PAPER = "paper"
    HONEST = "honest"


class Reading(StrEnum):
    """Readings of how the paper chose parameters."""

    SOURCE = "source"
    ORACLE = "oracle"


class Extent(StrEnum):
    """How many settings are tried."""

    PAPER = "paper"
    QUICK = "quick"


@explained
def reproduce(
    part: Annotated[PartName, typer.Argument(help="Which part of the paper.")],
    protocol: Annotated[
        Rules,
        typer.Option(
            help="paper: accuracy on the rows whose bags were trained on. honest: fresh rows, no "
            "target label in any choice."
        ),
    ] = Rules.PAPER,
    paper_selection: Annotated[
        Reading,
        typer.Option(
            help="How the paper chose parameters, which it leaves open: by accuracy on source "
            "rows, or by hidden target labels (oracle)."
        ),
    ] = Reading.ORACLE,
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Draws; the number of a draw is its seed.",
            show_default="10; 3 for text and faces",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Data sets, for all parts but synthetic. By default, where BAGSHIFT_DATA points.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Results; a second run goes on."),
    ] = Path("reproduce"),
    jobs: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Processes at the same time.")
    ] = 1,
    grid: Annotated[
        Extent,
        typer.Option(help="All settings of the paper, or few of them to try things out."),
    ] = Extent.PAPER,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compute the paper's tables and figures again.

    Results are kept one by one in the output folder: a run that was stopped
    goes on where it was. Each part ends with a page, in HTML and Markdown.
    """
    require_experiments()
    from bagshift.cli._screen import Screen
    from bagshift.experiments.paper.catalogue import PARTS
    from bagshift.experiments.paper.parts import Request
    from bagshift.experiments.paper.protocols import Protocol

    request = Request(
        protocol=Protocol(protocol.value, paper_selection.value, grid.value),
        output=output,
        data=data,
        n_draws=draws,
        n_jobs=jobs,
        command=shlex.join(["bagshift", *sys.argv[1:]]),
    )
    screen = Screen(quiet)
    names = list(PARTS) if part is PartName.ALL else [part.value]
    for name in names:
        PARTS[name].check(request)
    try:
        with ended_like_interrupted():
            for name in names:
                _show(screen, _run(screen, PARTS[name], request))
    except KeyboardInterrupt:
        say_error(f"Interrupted; what was computed is kept in {output}. The same command goes on.")
        raise typer.Exit(INTERRUPTED) from None


def _run(screen: Screen, part: Part, request: Request) -> Reproduced:
    from bagshift.experiments.paper.parts import reproduce as compute

    with screen.progress(f"Reproducing {part.name}") as progress:
        return compute(part, request, progress)


def _show(screen: Screen, found: Reproduced) -> None:
    for summary in found.summaries:
        screen.heading(summary.title)
        screen.table(summary.header, summary.rows)
        screen.say()
    if found.n_failed:
        screen.say(f"{found.n_failed} results could not be computed; their files say why.")
    screen.say(f"Page: {found.page}")
    for file in found.files:
        screen.say(f"Results one by one: {file}")
