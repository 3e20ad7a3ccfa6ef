# SPDX-License-Identifier: BSD-3-Clause
"""The league: every method on every task, by one protocol.

A league is planned, run (:mod:`bagshift.experiments.runs`) and told as a page. Its folder holds
the cells one by one in ``cells.csv``, and the page as HTML, Markdown, CSV and PNG files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from time import process_time

from bagshift.atomic import check_writable
from bagshift.exceptions import TableError, name_some
from bagshift.experiments.cells import Cell
from bagshift.experiments.draws import BagKind, Draw, make_draw
from bagshift.experiments.league_page import league_page
from bagshift.experiments.league_settings import Setting, league_settings
from bagshift.experiments.methods import CEILING, FLOOR, METHODS
from bagshift.experiments.pages import Page, PageTable, write_page
from bagshift.experiments.provenance import provenance
from bagshift.experiments.runs import Job, Outcome, Progress, known_cells, make_folder, run_jobs
from bagshift.experiments.tasks import find_task, load_task

REFERENCE = "CountLikelihoodCV"
BAGS: tuple[BagKind, ...] = ("random", "natural")
SIZES = (8, 32, 100)
N_DRAWS = 10
# What comes with scikit-learn, so that anyone can run it.
QUICK_TASKS = ("digits 30", "digits 50", "breast cancer")
QUICK_SIZES = (8,)
QUICK_DRAWS = 3
CELLS_FILE = "cells.csv"


@dataclass(frozen=True)
class LeaguePlan:
    """What a league consists of, and where it is kept.

    Attributes
    ----------
    settings : tuple of Setting
        Tasks with their bags.
    methods : tuple of str
        Names of methods.
    n_draws : int
        Draws 0, 1, ... of each.
    data : Path or None
        Folder of the data sets.
    output : Path
        Folder of the results.
    left_out : dict of str to str
        Tasks that do not take part, or not with all bags, and why.
    """

    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    n_draws: int
    data: Path | None
    output: Path
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def cells_file(self) -> Path:
        """Where the cells are kept."""
        return self.output / CELLS_FILE

    def jobs(self) -> list[Job]:
        """Return all cells to be, draw by draw."""
        compute = partial(league_outcome, self.data)
        return [
            Job(setting.task, setting.bags, setting.bag_size, method, draw, compute)
            for draw in range(self.n_draws)
            for setting in self.settings
            for method in self.methods
        ]

    def n_done(self) -> int:
        """Return how many of them need not be computed any more."""
        settings = {(s.task, s.bags, s.bag_size) for s in self.settings}
        return sum(
            (task, bags, bag_size) in settings and method in self.methods and draw < self.n_draws
            for task, bags, bag_size, method, draw in known_cells(self.cells_file)
        )

    @property
    def n_cells(self) -> int:
        """Number of all cells."""
        return len(self.settings) * len(self.methods) * self.n_draws


@dataclass(frozen=True)
class League:
    """A league that was run.

    Attributes
    ----------
    cells : list of Cell
        All of its cells.
    page : Page
        What they say.
    files : list of Path
        The files of the page, that of HTML first.
    """

    cells: list[Cell]
    page: Page
    files: list[Path]

    @property
    def overviews(self) -> list[PageTable]:
        """The tables of all methods, one per kind and size of bags."""
        return [
            table
            for section in self.page.sections
            for table in section.tables
            if table.name.endswith("-overview")
        ]


def plan_league(
    *,
    tasks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    bags: Sequence[BagKind] = BAGS,
    sizes: Sequence[int] = SIZES,
    n_draws: int = N_DRAWS,
    data: Path | None = None,
    output: Path = Path("league"),
) -> LeaguePlan:
    """Plan a league.

    Parameters
    ----------
    tasks : sequence of str, optional
        Names of tasks; by default all that can be read.
    methods : sequence of str, optional
        Names of methods; by default all.
    bags : sequence of {"random", "clustered", "feature", "skewed", "natural"}
        How bags are made.
    sizes : sequence of int
        Rows per bag, for bags that are not natural.
    n_draws : int, default=10
        Draws of each task.
    data : Path, optional
        Folder of the data sets; without it, those of scikit-learn alone.
    output : Path
        Folder of the results.

    Returns
    -------
    LeaguePlan

    Raises
    ------
    TableError
        When there is no task or method of a name, no task has rows for such bags, or a task
        that is named cannot be used.
    ValueError
        When a size is no whole number from 1 on.
    """
    found = league_settings(tasks, bags, sizes, data)
    return LeaguePlan(
        settings=tuple(found.settings),
        methods=tuple(check_methods(methods)),
        n_draws=n_draws,
        data=data,
        output=output,
        left_out=found.left_out,
    )


def run_league(
    plan: LeaguePlan,
    *,
    command: str,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> League:
    """Run what is missing of a league, and write its page.

    Parameters
    ----------
    plan : LeaguePlan
        The plan.
    command : str
        The command line, for the page.
    n_jobs : int or None, default=None
        Cells computed at the same time, by processes or as the joblib backend in force says.
    progress : callable, optional
        Called with the number of cells done and of all.

    Returns
    -------
    League

    Raises
    ------
    TableError
        When the folder of the results cannot be written to.
    BrokenProcessPool
        When one of the processes of this machine was killed.
    """
    make_folder(plan.output)
    check_writable(plan.cells_file)
    cells = run_jobs(plan.jobs(), plan.cells_file, n_jobs=n_jobs, progress=progress)
    page = league_page(
        cells,
        title="League of methods",
        methods_order=plan.methods,
        floor=FLOOR,
        ceiling=CEILING,
        reference=REFERENCE if REFERENCE in plan.methods else FLOOR,
        provenance={
            "protocol": "fresh rows, parameters chosen without target labels",
            "draws": f"{plan.n_draws}, of seeds 0, 1, ...",
            **provenance(command),
        },
        aside={s.task for s in plan.settings if not find_task(s.task, plan.data).counts},
    )
    return League(cells, page, write_page(page, plan.output))


def league_outcome(data: Path | None, job: Job) -> Outcome:
    """Return what a method of the league reaches on a draw.

    Parameters
    ----------
    data : Path or None
        Folder of the data sets.
    job : Job
        Names task, bags, method and draw.

    Returns
    -------
    Outcome
    """
    drawn = _draw(job.task, job.bags, job.bag_size, job.draw, data)
    before = process_time()
    model, parameters = METHODS[job.method].fit(drawn)
    seconds = process_time() - before
    return Outcome(
        fresh=float(model.score(drawn.X_fresh, drawn.y_fresh)),
        in_sample=float(model.score(drawn.X_bagged, drawn.y_bagged)),
        chosen=_written(parameters),
        seconds=seconds,
    )


# The methods of a draw come one after the other, in the same few processes.
@lru_cache(maxsize=2)
def _draw(task: str, bags: BagKind, bag_size: int, draw: int, data: Path | None) -> Draw:
    found = find_task(task, data)
    return make_draw(load_task(found, data, draw), found.kind, bag_size, draw, bags)


def _written(parameters: Mapping[str, object]) -> str:
    items = sorted(parameters.items())
    return " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in items)


def check_methods(methods: Sequence[str] | None) -> list[str]:
    """Return names of methods in the order of the league.

    Parameters
    ----------
    methods : sequence of str or None
        Names; None for all. Floor and ceiling are added, for every figure is between them.

    Returns
    -------
    list of str

    Raises
    ------
    TableError
        When there is no method of a name.
    """
    if methods is None:
        return list(METHODS)
    if unknown := [name for name in methods if name not in METHODS]:
        raise TableError(
            f"There is no method {name_some(unknown)}; there are {', '.join(METHODS)}."
        )
    ends = [name for name, method in METHODS.items() if method.is_reference]
    return [name for name in METHODS if name in {*methods, *ends}]
