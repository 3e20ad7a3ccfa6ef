# SPDX-License-Identifier: BSD-3-Clause
"""The paper's experiment on two-dimensional Gaussians: its cells and its page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from bagshift.experiments._page_values import PageValue
from bagshift.experiments.pages import Page, PageSection, PageTable
from bagshift.experiments.paper import synthetic_pictures as pictures
from bagshift.experiments.paper.choosing import IC_SVM, SVM, TGPLM_NAME
from bagshift.experiments.paper.claims import ALMOST, THE_SAME, Evidence
from bagshift.experiments.paper.gaussians import (
    BAG_SIZES,
    COUPLINGS,
    LIMIT_BAG_SIZE,
    LIMIT_COSTS,
    METHOD_NAMES,
    PATH_BAG_SIZES,
    TASKS,
    TWINS,
    chosen_outcome,
    path_method,
    path_outcome,
    twin_method,
    twin_outcome,
)
from bagshift.experiments.paper.parts import Part, Request, Summary, chosen_file, needs_nothing
from bagshift.experiments.paper.protocols import Protocol, how_chosen, read_setting
from bagshift.experiments.paper.statistics import Results, Where, interval
from bagshift.experiments.paper.synthetic_claims import synthetic_claims
from bagshift.experiments.paper.verdicts import RULES, Claim
from bagshift.experiments.provenance import provenance
from bagshift.experiments.runs import Job

NAME = "synthetic"
HONEST = Protocol("honest")
PATHS, TWINS_FILE = f"{NAME}-coupling", f"{NAME}-agreement"
ROWS: dict[Where, str] = {
    "in_sample": "on the bagged rows (in-sample, as the paper measures it)",
    "fresh": "on 2,000 fresh rows",
}
SHORT: dict[Where, str] = {"in_sample": "in-sample", "fresh": "fresh"}
INTRODUCTION = (
    "Two-dimensional Gaussians: 100 labelled source rows, 100 target rows in bags of K with known "
    "shares, what is left over in a shorter bag. The paper prints means and variances of whole "
    "domains only, so the means of the classes are assumed, in two ways: mild and strong shift.",
    "The accuracy on fresh rows is what a user would get; it is never mixed with that in-sample.",
)


def _jobs(request: Request, n_draws: int) -> dict[str, list[Job]]:
    draws, edges = range(n_draws), (COUPLINGS[0], COUPLINGS[-1])
    return {
        **{
            chosen_file(NAME, protocol): [
                Job(task, "random", size, method, draw, partial(chosen_outcome, protocol))
                for draw in draws
                for task in TASKS
                for size in BAG_SIZES
                for method in METHOD_NAMES
            ]
            # The paper's claims are held against the honest protocol too.
            for protocol in (request.protocol, HONEST)
        },
        PATHS: [
            Job(task, "random", size, path_method(coupling), draw, path_outcome)
            for draw in draws
            for task in TASKS
            for size in PATH_BAG_SIZES
            for coupling in COUPLINGS
        ],
        TWINS_FILE: [
            Job(
                task,
                "random",
                LIMIT_BAG_SIZE,
                twin_method(coupling, twin, cost),
                draw,
                twin_outcome,
            )
            for draw in draws
            for task in TASKS
            for coupling in edges
            for cost in LIMIT_COSTS
            for twin in TWINS
        ],
    }


def _page(request: Request, results: Mapping[str, Results]) -> Page:
    protocol = request.protocol
    chosen = results[chosen_file(NAME, protocol)]
    sections = [_accuracies(results, protocol), _differences(chosen, protocol)]
    if protocol.name == "paper":
        sections += [_claims(request, results), _ties(chosen, protocol)]
    sections += [pictures.boundaries(chosen, protocol), pictures.couplings(results[PATHS])]
    return Page(
        name=chosen_file(NAME, protocol),
        title="The paper's Gaussians",
        introduction=[
            f"Rules of this page: {protocol.description}.",
            *INTRODUCTION,
            *how_chosen(protocol),
        ],
        sections=sections,
        provenance={
            **provenance(request.command),
            "protocol": protocol.description,
            "draws": str(chosen.n_draws),
        },
    )


def _accuracies(results: Mapping[str, Results], protocol: Protocol) -> PageSection:
    chosen = results[chosen_file(NAME, protocol)]
    tables = [_accuracy_table(chosen, task, where, protocol) for where in ROWS for task in TASKS]
    if protocol != HONEST:
        honest = results[chosen_file(NAME, HONEST)]
        tables += [_accuracy_table(honest, task, "fresh", HONEST) for task in TASKS]
    return PageSection(
        title="Accuracy",
        paragraphs=["The ceiling is an SVM on the true labels of the bagged rows."],
        tables=tables,
        pictures=[pictures.over_bag_sizes(chosen, protocol)],
    )


def _accuracy_table(found: Results, task: str, where: Where, protocol: Protocol) -> PageTable:
    parts = (task, where.replace("_", "-"), *(["honest"] if protocol == HONEST else []))
    return PageTable(
        name="-".join(parts),
        caption=f"Mean accuracy {ROWS[where]}; {TASKS[task]} shift; {protocol.description}; "
        f"{found.draws}.",
        header=["method", *(f"K = {size}" for size in BAG_SIZES)],
        rows=[
            [method, *(found.mean(where, task, size, method) for size in BAG_SIZES)]
            for method in METHOD_NAMES
        ],
    )


def _differences(chosen: Results, protocol: Protocol) -> PageSection:
    pairs = [(TGPLM_NAME, IC_SVM), (IC_SVM, SVM), (TGPLM_NAME, SVM)]
    rows: list[list[PageValue]] = []
    for task, shift in TASKS.items():
        for where, text in SHORT.items():
            for better, worse in pairs:
                gaps = chosen.over_sizes(where, task, BAG_SIZES, better)
                gaps = 100 * (gaps - chosen.over_sizes(where, task, BAG_SIZES, worse))
                values = [interval(column).estimate for column in gaps.T]
                rows.append([f"{shift}, {text}: {better} − {worse}", *values])
    table = PageTable(
        name="differences",
        caption="Paired differences in points of accuracy with 95 % intervals (Student's t over "
        f"{chosen.draws}); {protocol.description}.",
        header=["difference", *(f"K = {size}" for size in BAG_SIZES)],
        rows=rows,
        decimals=1,
    )
    return PageSection(title="Differences between methods", tables=[table])


def _claims(request: Request, results: Mapping[str, Results]) -> PageSection:
    chosen = results[chosen_file(NAME, request.protocol)]
    found = synthetic_claims(
        Evidence(chosen, "in_sample"),
        Evidence(results[chosen_file(NAME, HONEST)], "fresh"),
        results[PATHS],
        results[TWINS_FILE],
    )
    table = PageTable(
        name="claims",
        caption="Observations of the paper, in points of accuracy with 95 % intervals over "
        f"{chosen.draws}. In-sample: {request.protocol.description}. Fresh rows: "
        f"{HONEST.description}. Claims on the coupling are of fixed settings and choose nothing.",
        header=["claim", "shift", "in-sample, as the paper", "fresh rows, honest", "verdict"],
        rows=[claim_row(claim) for claim in found],
    )
    return PageSection(
        title="What the paper observed",
        paragraphs=[
            *RULES,
            f"The hyperplanes are the same when {100 * THE_SAME:.0f} % of rows get the same "
            f"label, and almost only the target counts when {100 * ALMOST:.0f} % do. At the least "
            "cost of the target IC-SVM gives nearly all rows one label: of a small coupling its "
            "numbers are shown and not judged by. Accuracy falls sharply when it falls by more "
            "than it rose.",
        ],
        tables=[table],
    )


def claim_row(claim: Claim) -> list[str]:
    """Return a claim as a row of a table.

    Parameters
    ----------
    claim : Claim
        The claim.

    Returns
    -------
    list of str
    """
    return [
        claim.statement,
        claim.data,
        claim.in_sample.numbers,
        claim.fresh.numbers,
        claim.verdict,
    ]


def _ties(chosen: Results, protocol: Protocol) -> PageSection:
    names = ("score", "tied", "tied_lowest", "tied_mean", "tied_highest")
    rows: list[list[PageValue]] = []
    for task in TASKS:
        for size in BAG_SIZES:
            for method in METHOD_NAMES[:3]:
                found = [
                    read_setting(cell.chosen, names)
                    for cell in chosen.cells.values()
                    if (cell.task, cell.bag_size, cell.method) == (task, size, method)
                    and "tied=" in cell.chosen
                ]
                if found:
                    means = [sum(one[name] for one in found) / len(found) for name in names]
                    rows.append([f"{TASKS[task]}, K = {size}, {method}", *means])
    table = PageTable(
        name="ties",
        caption="Score that the choice was made by, settings that reached it, and their accuracy "
        f"in-sample: lowest, mean, highest; means over {chosen.draws}; "
        f"{protocol.description}.",
        header=["choice", "score", "settings tied", "lowest", "mean", "highest"],
        rows=rows,
        decimals=[0, 3, 0, 3, 3, 3],
    )
    return PageSection(
        title="How much the rule for ties decides",
        paragraphs=[
            "Of settings with the same score the most regular machine is taken: smallest C_target "
            "or C, then largest coupling, smallest C_source, smallest gamma."
        ],
        tables=[table],
    )


def _summary(request: Request, results: Mapping[str, Results]) -> list[Summary]:
    chosen = results[chosen_file(NAME, request.protocol)]
    return [
        Summary(
            title=f"Accuracy {text}; {request.protocol.description}; {chosen.draws}",
            header=["method", *(f"K = {size}" for size in BAG_SIZES)],
            rows=[
                [
                    f"{shift} shift: {method}",
                    *(f"{chosen.mean(where, task, size, method):.3f}" for size in BAG_SIZES),
                ]
                for task, shift in TASKS.items()
                for method in METHOD_NAMES
            ],
        )
        for where, text in ROWS.items()
    ]


SYNTHETIC = Part(
    name=NAME, draws=10, jobs=_jobs, page=_page, summary=_summary, check=needs_nothing
)
