# SPDX-License-Identifier: BSD-3-Clause
"""What a part of the paper is: cells to compute, and a page of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bagshift.experiments.pages import Page, write_page
from bagshift.experiments.paper.protocols import Protocol
from bagshift.experiments.paper.statistics import Results
from bagshift.experiments.runs import Job, Progress, make_folder, run_jobs


@dataclass(frozen=True)
class Request:
    """What is to be reproduced, and how.

    Attributes
    ----------
    protocol : Protocol
        The rules.
    output : Path
        Folder of cells and pages.
    data : Path or None
        Folder of the real data; None looks where the library looks.
    n_draws : int or None
        Draws; None is the number of the part.
    n_jobs : int or None
        Cells computed at the same time, by processes or as the joblib backend in force says.
    command : str
        The command line, for the page.
    """

    protocol: Protocol
    output: Path
    data: Path | None = None
    n_draws: int | None = None
    n_jobs: int | None = None
    command: str = "bagshift reproduce"


@dataclass(frozen=True)
class Summary:
    """A short table for the screen.

    Attributes
    ----------
    title : str
        What it shows, protocol and draws included.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        Its lines.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Part:
    """A part of the paper.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    draws : int
        Draws unless told otherwise.
    jobs : callable
        From the request and the number of draws to the jobs of every file of cells.
    page : callable
        From the request and the results of every file to the page.
    summary : callable
        From the same to the tables for the screen.
    check : callable
        Refuses a request that cannot be served, before anything is computed.
    """

    name: str
    draws: int
    jobs: Callable[[Request, int], dict[str, list[Job]]]
    page: Callable[[Request, Mapping[str, Results]], Page]
    summary: Callable[[Request, Mapping[str, Results]], list[Summary]]
    check: Callable[[Request], None]


@dataclass(frozen=True)
class Reproduced:
    """A part that is done.

    Attributes
    ----------
    summaries : list of Summary
        For the screen.
    page : Path
        The HTML page.
    n_failed : int
        Cells that ended with an error.
    files : list of Path
        Files of the cells.
    """

    summaries: list[Summary]
    page: Path
    n_failed: int
    files: list[Path] = field(default_factory=list)


def needs_nothing(request: Request) -> None:
    """Accept any request: the check of a part without data.

    Parameters
    ----------
    request : Request
        The request.
    """


def reproduce(part: Part, request: Request, progress: Progress | None = None) -> Reproduced:
    """Compute what is missing of a part, and write its page.

    Parameters
    ----------
    part : Part
        The part.
    request : Request
        How.
    progress : callable, optional
        Called with the number of cells done and of all.

    Returns
    -------
    Reproduced

    Raises
    ------
    TableError
        When the output folder cannot be made or a data file is missing.
    """
    jobs = part.jobs(request, request.n_draws or part.draws)
    make_folder(request.output)
    total, done = sum(len(of_file) for of_file in jobs.values()), 0
    results = {}
    for name, of_file in jobs.items():
        cells = run_jobs(
            of_file,
            request.output / f"{name}.csv",
            n_jobs=request.n_jobs,
            progress=_shifted(progress, done, total),
        )
        results[name] = Results({cell.key: cell for cell in cells})
        done += len(of_file)
    files = write_page(part.page(request, results), request.output)
    return Reproduced(
        summaries=part.summary(request, results),
        page=files[0],
        n_failed=sum(of_file.n_failed for of_file in results.values()),
        files=[request.output / f"{name}.csv" for name in jobs],
    )


def chosen_file(part: str, protocol: Protocol) -> str:
    """Return the name of the file of cells whose parameters were chosen.

    Parameters
    ----------
    part : str
        Name of the part.
    protocol : Protocol
        The rules.

    Returns
    -------
    str
        Without ending.
    """
    return f"{part}-{protocol.file_part}"


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Return what tells the progress of one file as that of all."""
    if progress is None:
        return None
    return lambda done, of_file: progress(before + done, total)
