# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift league``: every method on every data set, by one protocol."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

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
    from collections.abc import Mapping

    from bagshift.cli._screen import Screen
    from bagshift.experiments.draws import BagKind
    from bagshift.experiments.league import League, LeaguePlan

KINDS = ("random", "clustered", "feature", "skewed", "natural")
LEARNS_FROM = {
    "source": "source; shares at most to choose parameters, and their overall mean",
    "bags": "bags",
    "both": "bags and source",
    "labels": "target labels that nobody has",
}
# Column of the page, and its name where there is little room.
ON_SCREEN = {
    "method": "method",
    "gap closed": "gap closed",
    "fresh accuracy": "fresh",
    "CPU seconds": "CPU s",
}


@explained
def league(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Three tasks of scikit-learn, bags of 8, 3 draws: two minutes."
        ),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Data sets. By default, where BAGSHIFT_DATA points; without it, those of "
            "scikit-learn alone.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Results; the same command goes on there."
        ),
    ] = Path("league"),
    tasks: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="With commas between. By default all (see --list)."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="With commas between. By default all (see --list)."),
    ] = None,
    bags: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}, with commas between.",
            show_default="random,natural",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS", help="Rows per bag, with commas between.", show_default="8,32,100"
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            max=1000,
            help="Draws; the number of a draw is its seed.",
            show_default="10",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=-1, help="Processes at a time; -1 for one per core."),
    ] = -1,
    show_list: Annotated[
        bool, typer.Option("--list", help="List tasks and methods, and do nothing else.")
    ] = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compare every method on every data set.

    Same rows, same bags, the same choice of parameters without a target label,
    and accuracy on fresh rows. Results are kept one by one in the output
    folder: a run that was stopped goes on where it was. Ends with a page in
    HTML, Markdown and CSV.
    """
    require_experiments()
    from bagshift.cli._screen import Screen
    from bagshift.datasets import data_folder
    from bagshift.experiments import league as leagues

    folder = None if quick and data is None else data_folder(data)
    screen = Screen(quiet)
    if show_list:
        _list(screen, folder)
        return
    plan = leagues.plan_league(
        tasks=_names("--tasks", tasks) or (leagues.QUICK_TASKS if quick else None),
        methods=_names("--methods", methods),
        bags=_kinds(bags) or leagues.BAGS,
        sizes=_sizes(sizes) or (leagues.QUICK_SIZES if quick else leagues.SIZES),
        n_draws=draws or (leagues.QUICK_DRAWS if quick else leagues.N_DRAWS),
        data=folder,
        output=output,
    )
    _introduce(screen, plan)
    try:
        with ended_like_interrupted(), screen.progress("Cells") as progress:
            found = leagues.run_league(
                plan,
                command=_command(),
                n_jobs=jobs or 1,
                progress=progress,
            )
    except KeyboardInterrupt:
        say_error(
            f"Interrupted; {plan.n_done():,} of {plan.n_cells:,} cells are kept in {output}. The "
            "same command goes on."
        )
        raise typer.Exit(INTERRUPTED) from None
    _conclude(screen, found, output)


def _command() -> str:
    command = shlex.join(["bagshift", *sys.argv[1:]])
    # Names of files need not be text, but pages must be.
    return command.encode(errors="backslashreplace").decode()


def _names(option: str, written: str | None) -> list[str] | None:
    if written is None:
        return None
    if not (names := list(dict.fromkeys(options.names(written)))):
        raise typer.BadParameter(f"{option} names nothing; leave it out for the default.")
    return names


def _kinds(written: str | None) -> list[BagKind] | None:
    from bagshift.experiments.draws import BagKind

    kinds = _names("--bags", written)
    if unknown := [kind for kind in kinds or [] if kind not in get_args(BagKind)]:
        raise typer.BadParameter(f"--bags knows {', '.join(KINDS)}, not {unknown[0]!r}.")
    return kinds  # type: ignore[return-value]


def _sizes(written: str | None) -> list[int] | None:
    sizes = _names("--sizes", written)
    if sizes is None:
        return None
    if wrong := [size for size in sizes if not (re.fullmatch("[0-9]{1,9}", size) and int(size))]:
        raise typer.BadParameter(f"--sizes takes whole numbers from 1 on, not {wrong[0]!r}.")
    return list(dict.fromkeys(map(int, sizes)))


def _list(screen: Screen, folder: Path | None) -> None:
    from bagshift.experiments.methods import METHODS
    from bagshift.experiments.tasks import tasks_in

    found = tasks_in(folder)
    screen.heading("Tasks")
    screen.facts([(name, task.about) for name, task in found.tasks.items()])
    _say_left_out(found.left_out)
    screen.say()
    screen.heading("Methods, and what they learn from")
    screen.facts([(name, LEARNS_FROM[method.learns_from]) for name, method in METHODS.items()])


def _say_left_out(left_out: Mapping[str, str]) -> None:
    for name, reason in left_out.items():
        say_error(f"Left out: {name}: {reason}{'' if reason.endswith('.') else '.'}")


def _introduce(screen: Screen, plan: LeaguePlan) -> None:
    _say_left_out(plan.left_out)
    tasks = list(dict.fromkeys(setting.task for setting in plan.settings))
    kinds = dict.fromkeys(
        setting.bags if setting.bags == "natural" else f"{setting.bags} of {setting.bag_size}"
        for setting in plan.settings
    )
    screen.heading("League")
    screen.facts(
        [
            ("data", str(plan.data or "scikit-learn's own sets")),
            ("tasks", f"{len(tasks)}: {', '.join(tasks)}"),
            ("bags", ", ".join(kinds)),
            ("methods", f"{len(plan.methods)}, floor and ceiling among them"),
            ("draws", str(plan.n_draws)),
            ("cells", f"{plan.n_cells:,}, {plan.n_done():,} of them already in {plan.output}"),
        ]
    )
    screen.say()


def _conclude(screen: Screen, found: League, output: Path) -> None:
    from bagshift.experiments._page_values import Estimate, shown

    for table in found.overviews:
        columns = [list(table.header).index(name) for name in ON_SCREEN]
        rows = []
        for row in table.rows:
            # Intervals of the gap closed alone; the page has all of them.
            values = [row[k] for k in columns]
            values[2:] = [v.value if isinstance(v, Estimate) else v for v in values[2:]]
            rows.append(
                [shown(v, table.decimals_of(k)) for v, k in zip(values, columns, strict=True)]
            )
        screen.heading(table.caption.partition(";")[0])
        screen.table(list(ON_SCREEN.values()), rows)
        screen.say()
    if n_missing := sum(cell.status != "done" for cell in found.cells):
        screen.say(
            f"{n_missing:,} of {len(found.cells):,} cells have no result; the page says why."
        )
    screen.say(f"Page: {found.files[0]}")
    screen.say(f"Cells one by one: {output / 'cells.csv'}")
