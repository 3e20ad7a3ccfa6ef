# SPDX-License-Identifier: BSD-3-Clause
"""A privacy report in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bagshift.exceptions import name_bags, name_some, plural
from bagshift.inspection._lines import Facts, in_range, percent, write_report
from bagshift.inspection._noise_cost import LARGEST_ALIKE

if TYPE_CHECKING:
    from bagshift.inspection._noise_cost import NoiseCost
    from bagshift.inspection.privacy_report import PrivacyReport, ReleasePrivacy

SMALL = 5


def privacy_warnings(report: PrivacyReport) -> tuple[str, ...]:
    """List what is disclosed, worst first.

    Parameters
    ----------
    report : PrivacyReport
        Its own warnings are not read.

    Returns
    -------
    tuple of str
    """
    return (
        *_of_overlap(report),
        *(sentence for release in report.releases for sentence in _of_release(release, report)),
        *_in_general(report),
    )


def _of_overlap(report: PrivacyReport) -> Iterator[str]:
    by_overlap = report.determined & ~report.in_pure_bag
    if by_overlap.any():
        n_found = int(by_overlap.sum())
        yield (
            f"{_disclosed(n_found)} though in no pure bag: the releases together leave one "
            "possibility only (row numbers from 0: "
            f"{name_some(np.flatnonzero(by_overlap).tolist())})."
        )
    if report.n_unsettled_rows:
        yield (
            f"More than two releases overlap in a part too large for an exact search: of "
            f"{plural(report.n_unsettled_rows, 'more row')} there, some may be disclosed too; a "
            "larger max_cells searches longer."
        )


def _disclosed(number: int) -> str:
    labels = "label" if number == 1 else "labels"
    return f"The {labels} of {plural(number, 'row')} {'is' if number == 1 else 'are'} disclosed,"


def _of_release(release: ReleasePrivacy, report: PrivacyReport) -> Iterator[str]:
    of = f" of {release.name}" if len(report.releases) > 1 else ""
    singles = release.pure_ids[release.sizes[release.is_pure] == 1]
    pure = release.pure_ids[release.sizes[release.is_pure] > 1]
    if len(pure):
        n_rows = release.n_pure_rows - len(singles)
        whose = "its" if len(pure) == 1 else "their"
        yield (
            f"{_capital(name_bags(pure))}{of} {'is' if len(pure) == 1 else 'are'} pure, which "
            f"discloses the labels of {whose} {plural(n_rows, 'row')}."
        )
    if len(singles):
        yield (
            f"{_capital(name_bags(singles))}{of} {'has' if len(singles) == 1 else 'have'} one row "
            "only, so that the share is its label."
        )
    small = release.ids[(release.sizes < SMALL) & ~release.is_pure & ~release.is_noisy]
    if len(small):
        yield (
            f"{_capital(name_bags(small))}{of} {'has' if len(small) == 1 else 'have'} fewer than "
            f"{SMALL} individuals: a few known labels disclose the others."
        )


def _in_general(report: PrivacyReport) -> Iterator[str]:
    if np.isinf(report.epsilon_spent):
        yield (
            "Aggregation alone is not differential privacy: whoever knows all labels of a bag "
            "with an exact number but one knows the last one."
        )
    else:
        yield (
            "Differential privacy holds if the declared noise was drawn for it, afresh and "
            "independently for every release, and if nothing else was released."
        )


def privacy_text(report: PrivacyReport) -> str:
    """Write a report out.

    Parameters
    ----------
    report : PrivacyReport

    Returns
    -------
    str
    """
    n_releases = len(report.releases)
    what = f"{n_releases} releases" if n_releases > 1 else "one release"
    title = f"What {what} of shares {'disclose' if n_releases > 1 else 'discloses'} of labels"
    return write_report(title, report.warnings, privacy_parts(report))


def privacy_parts(report: PrivacyReport) -> list[tuple[str, Facts]]:
    """List names and values under headings.

    Parameters
    ----------
    report : PrivacyReport

    Returns
    -------
    list of (heading, facts)
    """
    parts = [("Disclosed for sure", _sure(report)), ("Guessed", _guessed(report))]
    parts += [
        (
            f"Bags of {release.name}" if len(report.releases) > 1 else "Bags",
            _release_facts(release),
        )
        for release in report.releases
    ]
    parts += [
        (
            f"With noise of epsilon {release.cost.epsilon:g} (noise_counts)"
            + (f", {release.name}" if len(report.releases) > 1 else ""),
            _cost_facts(report, release, release.cost),
        )
        for release in report.releases
        if release.cost is not None
    ]
    return [*parts, ("Differential privacy of a label", _epsilon_facts(report))]


def _sure(report: PrivacyReport) -> Facts:
    def of_all(number: int) -> str:
        return f"{number:,} of {plural(report.n_rows, 'row')} ({percent(number / report.n_rows)})"

    facts = [("in pure bags", of_all(int(report.in_pure_bag.sum())))]
    if len(report.releases) > 1:
        facts.append(("by adding and subtracting", of_all(int(report.linearly_determined.sum()))))
    sure = "at least " if report.n_unsettled_rows else ""
    return [*facts, ("in all", sure + of_all(int(report.determined.sum())))]


def _guessed(report: PrivacyReport) -> Facts:
    what = (
        "what is sure, and the rest of each bag by its majority"
        if report.determined.any()
        else "the majority of each bag"
    )
    return [
        ("attacker's accuracy", f"{percent(report.attack_accuracy)}, guessing {what}"),
        ("without the bags", f"{percent(report.prior_accuracy)}, guessing by the overall share"),
    ]


def _release_facts(release: ReleasePrivacy) -> Facts:
    sizes = release.sizes
    facts = [
        ("bags", f"{len(sizes):,}, with {plural(release.n_rows, 'row')}"),
        ("sizes", in_range((sizes.min(), np.median(sizes), sizes.max()))),
    ]
    if sizes.min() < sizes.max():
        smallest = f"{name_bags(release.smallest_ids)}, of {release.smallest_size:,}"
        facts.append(("smallest", smallest))
    n_pure = int(release.is_pure.sum())
    if n_pure:
        shown = f"{n_pure:,}, with {plural(release.n_pure_rows, 'row')}"
        facts.append(("pure", f"{shown}: {name_some(release.pure_ids)}"))
    else:
        facts.append(("pure", "none for sure" if release.is_noisy.any() else "none"))
    facts.append(
        (
            "majority attack",
            f"{percent(release.attack_accuracy)} (by the overall share "
            f"{percent(release.prior_accuracy)})",
        )
    )
    return facts


def _cost_facts(report: PrivacyReport, release: ReleasePrivacy, cost: NoiseCost) -> Facts:
    return [
        (
            "counts",
            f"moved by {cost.mean_shift:.2g} on average; shares of median bags by "
            f"±{cost.share_deviation:.2g}",
        ),
        (
            "majority attack",
            f"{percent(cost.attack_accuracy)} in place of {percent(release.attack_accuracy)} (by "
            f"the overall share {percent(release.prior_accuracy)})",
        ),
        (
            "left to learn from",
            f"{percent(cost.kept_information)} of what exact counts say, by a machine that is "
            f"right for {percent(report.accuracy)} of rows: as {cost.effective_bags:,.3g} exact "
            f"bags in place of {len(release.sizes):,}, or exact bags of {cost.like_bags_of:,.0f} "
            "rows",
        ),
        (
            "accuracy lost by bags",
            f"{'more than ' if cost.like_bags_of > LARGEST_ALIKE else ''}"
            f"{cost.loss_after.low:.1f} to {cost.loss_after.high:.1f} points against true "
            f"labels, in place of {cost.loss_before.low:.1f} to {cost.loss_before.high:.1f}: a "
            "rough estimate, from exact bags of such sizes in the library's league",
        ),
    ]


def _epsilon_facts(report: PrivacyReport) -> Facts:
    spent = report.epsilon_spent
    facts = [
        (
            "as released",
            "none (epsilon is infinite)" if np.isinf(spent) else f"epsilon {spent:.4g} in all",
        )
    ]
    if report.total_epsilon is not None:
        why = []
        if len(report.releases) > 1:
            why.append("releases add up")
        if report.sensitivity > 1:
            why.append("a label changes the counts of two classes")
        shown = f"epsilon {report.total_epsilon:.4g} in all"
        facts.append(("with that noise", shown + (f": {', and '.join(why)}" if why else "")))
    return facts


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
