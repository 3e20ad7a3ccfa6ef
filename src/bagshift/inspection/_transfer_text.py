# SPDX-License-Identifier: BSD-3-Clause
"""A report on the history in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bagshift.exceptions import plural
from bagshift.inspection._transfer_path import fewest_bags

if TYPE_CHECKING:
    from bagshift.inspection._transfer_path import TransferPoint
    from bagshift.inspection.transfer_report import TransferReport

_FEW_BAGS = 10
# Domains that a linear classifier tells apart that well, and machines that agree that rarely.
_FAR, _AT_ODDS = 1.0, 0.6


def transfer_text(report: TransferReport) -> str:
    """Return a report as aligned text.

    Parameters
    ----------
    report : TransferReport

    Returns
    -------
    str
    """
    bags = plural(report.n_bags, "held-out bag")
    lines = [
        f"The history {_SAYINGS[report.verdict]}, by {bags}",
        f"({plural(report.n_source, 'source row')}, {plural(report.n_target, 'target row')})",
        "",
        f"{'coupling':14}{report.criterion:>22}   vote for it, against coupling 0",
    ]
    lines.append(_line("target alone", report.target_only))
    for point in report.path:
        name = "pooled" if math.isinf(point.coupling) else f"{point.coupling:g}"
        marks = " <- judged" * (point.coupling == report.coupling)
        marks += " <- best" * (point.coupling == report.best_coupling)
        lines.append(_line(name, point) + marks)
    lines += [
        _line("source alone", report.source_only),
        "",
        f"Brackets: {100 * report.level:g} % intervals of the mean vote of a bag, from -1 to 1.",
    ]
    if report.calibrated_vote != report.vote:
        lines.append(f"{'vote of calibrated machines':34}{report.calibrated_vote.estimate:+6.2f}")
    far = report.distance
    lines += [
        f"{'proxy A-distance':34}{far.proxy_a_distance:6.2f}   0: domains alike, 2: far apart",
        f"{'mean shift of a column':34}{far.mean_shift:6.2f}   standard deviations; "
        f"largest {far.largest_shift:.2f}"
        + ("" if far.most_shifted is None else f", column {far.most_shifted}"),
        f"{'machines of both domains agree on':34}{100 * far.agreement:5.1f} % of target rows",
    ]
    lines += [f"Warning: {warning}" for warning in report.warnings]
    return "\n".join(lines)


_SAYINGS = {"helps": "helps", "hurts": "hurts", "no difference": "makes no difference that shows"}


def _line(name: str, point: TransferPoint) -> str:
    vote = point.vote
    shown = f"{vote.estimate:+.2f}  [{vote.low:+.2f}, {vote.high:+.2f}]"
    return f"{name:14}{point.score:22.3f}   {'' if point.coupling == 0 else shown}".rstrip()


def warnings_of(report: TransferReport) -> tuple[str, ...]:
    """Return what to be careful about, a sentence each.

    Parameters
    ----------
    report : TransferReport

    Returns
    -------
    tuple of str
    """
    warnings = []
    if report.verdict == "hurts":
        warnings.append(
            f"negative transfer: at coupling {report.coupling:g} held-out bags are less expected "
            f"than without the history{_why(report)}; lower the coupling"
            + (
                f" to {report.best_coupling:g}, the best on the path."
                if report.best_coupling < report.coupling
                else ", or leave the source out."
            )
        )
    if report.n_bags < fewest_bags(report.level):
        warnings.append(
            f"{plural(report.n_bags, 'bag')} cannot show a difference: all agree too often by "
            f"chance; it takes {fewest_bags(report.level)}."
        )
    elif report.verdict == "no difference" and report.n_bags < _FEW_BAGS:
        warnings.append(
            f"there are only {plural(report.n_bags, 'bag')}, which show large differences at most."
        )
    return tuple(warnings)


def _why(report: TransferReport) -> str:
    """Return what explains it, if anything does."""
    if report.distance.agreement < _AT_ODDS:
        return (
            ", and the machines of both domains agree on only "
            f"{100 * report.distance.agreement:.0f} % of the target rows: classes lie elsewhere"
        )
    if report.distance.proxy_a_distance > _FAR:
        return (
            f", and their rows lie far apart (proxy A-distance "
            f"{report.distance.proxy_a_distance:.1f} of 2)"
        )
    return ""
