# SPDX-License-Identifier: BSD-3-Clause
"""A bag report in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bagshift._bags.near_misses import differences, find_near_miss
from bagshift._bags.totals import is_named_total
from bagshift.exceptions import name_bags, name_some, plural
from bagshift.inspection._lines import Facts, in_range, percent, write_report
from bagshift.inspection._share_findings import share_findings

if TYPE_CHECKING:
    from bagshift.bags import Bags
    from bagshift.inspection.bag_report import BagReport

FEW_BAGS = 10
LITTLE_LEFT = 0.5
SHOWN_UNIONS = 3


def bag_warnings(report: BagReport, bags: Bags) -> tuple[str, ...]:
    """List what is wrong, worst first.

    Parameters
    ----------
    report : BagReport
        Its own warnings are not read.
    bags : Bags

    Returns
    -------
    tuple of str
    """
    found = list(
        share_findings(report.shares, report.rows_per_bag, is_noisy=bags.is_noisy, ids=report.ids)
    )
    return (
        *_of_repetitions(report),
        *(sentence for level, sentence in found if level == "warning"),
        *_of_spread(report),
        *_of_unmatched(report, bags),
        *_of_ids(report),
        *_of_sizes(report),
        *_of_means(report),
        *(sentence for level, sentence in found if level == "note"),
    )


def _of_repetitions(report: BagReport) -> Iterator[str]:
    troubles = report.troubles
    for bag, parts in troubles.unions[:SHOWN_UNIONS]:
        yield (
            f"{_capital(name_bags([bag]))} looks like the union of {name_bags(parts)}: its "
            "individuals count twice; leave it out."
        )
    more = troubles.unions[SHOWN_UNIONS:]
    if more:
        yield f"So {_do(len(more), 'does', 'do')} {name_bags(bag for bag, _ in more)}, of others."
    if troubles.duplicates:
        copies, originals = zip(*troubles.duplicates, strict=True)
        yield (
            f"{_capital(name_bags(copies))} {_do(len(copies), 'has', 'have')} the rows of "
            f"{name_bags(originals)}: individuals count twice; keep one of the two."
        )
    named = [bag for bag in troubles.totals if bag not in {bag for bag, _ in troubles.unions}]
    if named:
        yield (
            f"{_capital(name_bags(named))} {_do(len(named), 'is', 'are')} named like a total: "
            f"leave {_do(len(named), 'it', 'them')} out if so."
        )


def _of_spread(report: BagReport) -> Iterator[str]:
    if 1 < report.n_bags < FEW_BAGS:
        yield (
            f"There are {report.n_bags} bags only: too few to choose parameters, and to judge a "
            f"fit, by bags held out; {FEW_BAGS} or more are wanted."
        )
    if report.effective_bags < LITTLE_LEFT * report.n_bags:
        yield (
            "Noise, rounding, or individuals that are not among the rows leave little: the "
            f"{plural(report.n_bags, 'bag')} say as much about their rows as "
            f"{report.effective_bags:.2g} exact ones."
        )
    spread = report.spread
    if spread is not None and spread.is_narrow and report.n_bags > 2:
        yield (
            "Shares are more alike than chance makes them: bags were evened out, or shares are "
            "not of these rows."
        )


def _of_unmatched(report: BagReport, bags: Bags) -> Iterator[str]:
    without_rows, without_share = report.troubles.without_rows, report.troubles.without_share
    totals = [bag for bag in without_rows if is_named_total(bag)]
    others = [bag for bag in without_rows if not is_named_total(bag)]
    if totals:
        yield f"A total row was left out: {name_some(totals)}."
    dropped = bags.dropped
    if without_share:
        have = _do(len(without_share), "has", "have")
        yield (
            f"{_capital(name_bags(without_share))} of the rows {have} no share: "
            f"{_are_in_no_bag(dropped.n_rows_without_share)}."
        )
    if others:
        have, were = _do(len(others), "has", "have"), _do(len(others), "was", "were")
        yield f"{_capital(name_bags(others))} {have} a share but no row, and {were} left out."
    pair = find_near_miss(without_share, others)
    if pair is not None:
        yield (
            f"Ids match by equality, and {pair[0]!a} of the rows differs from {pair[1]!a} in "
            f"{' and '.join(differences(*pair))}: give both the same type and spelling."
        )
    if dropped.n_rows_without_id:
        yield f"With a blank bag id, {_are_in_no_bag(dropped.n_rows_without_id)}."
    if dropped.n_blank_entries:
        were = _do(dropped.n_blank_entries, "was", "were")
        yield f"{plural(dropped.n_blank_entries, 'share')} with a blank bag id {were} left out."


def _are_in_no_bag(n_rows: int) -> str:
    return f"{plural(n_rows, 'row')} {_do(n_rows, 'is', 'are')} in no bag"


def _of_ids(report: BagReport) -> Iterator[str]:
    groups = report.troubles.near_identical
    if groups:
        shown = "; ".join(name_some(group) for group in groups[:SHOWN_UNIONS])
        more = f"; and {len(groups) - SHOWN_UNIONS:,} more" if len(groups) > SHOWN_UNIONS else ""
        yield (
            f"Ids that differ in {' and '.join(differences(*groups[0][:2]))} stand for different "
            f"bags: {shown}{more}; give them one spelling if they are the same bag."
        )


def _of_sizes(report: BagReport) -> Iterator[str]:
    if report.troubles.huge:
        sizes = dict(zip(report.ids, report.sizes, strict=True))
        huge = report.troubles.huge
        parts = sum(sizes[bag] for bag in huge) / report.sizes.sum()
        yield (
            f"{_capital(name_bags(huge))} {_do(len(huge), 'is', 'are')} far larger than the "
            f"others ({percent(parts)} of all individuals), and a large bag says no more about "
            "single rows than a small one."
        )


def _of_means(report: BagReport) -> Iterator[str]:
    means = report.means
    if means is None or means.rank is None:
        return
    possible = min(report.n_bags - 1, means.n_features - means.n_constant)
    if means.rank < possible:
        yield (
            f"The means of bags differ in {plural(means.rank, 'direction')} only, of {possible:,} "
            "that are possible: some columns say the same, or bags have the same rows."
        )


def bag_text(report: BagReport) -> str:
    """Write a report out.

    Parameters
    ----------
    report : BagReport

    Returns
    -------
    str
    """
    title = (
        f"{plural(report.n_bags, 'bag')} with {plural(report.n_rows_in_bags, 'row')}: what they "
        "can teach"
    )
    parts = [
        ("Bags", _bag_facts(report)),
        ("Spread of shares", spread_facts(report)),
        ("Means of bags", _means_facts(report)),
        ("Accuracy that bags of such sizes allowed", loss_facts(report)),
    ]
    return write_report(title, report.warnings, parts)


def _bag_facts(report: BagReport) -> Facts:
    rows, sizes, shares = report.rows_per_bag, report.sizes, report.shares
    facts = [("rows of a bag", in_range(_three(rows)))]
    if (sizes != rows).any():
        facts.append(("individuals", in_range(_three(sizes))))
    facts += [
        ("shares", f"{in_range(_three(shares), 3)}, {report.overall_share:.3g} overall"),
        ("worth", f"{report.effective_bags:,.4g} exact and complete bags"),
    ]
    outside = report.n_rows - report.n_rows_in_bags
    if outside:
        facts.append(("in no bag", plural(outside, "row")))
    return facts


def spread_facts(report: BagReport) -> Facts:
    """Say how far shares spread, against random grouping."""
    spread = report.spread
    if spread is None:
        return []
    low, high = spread.of_random_bags
    verdict = (
        "more than chance: individuals of a bag are alike, which helps"
        if spread.is_wide
        else "less than chance"
        if spread.is_narrow
        else "as by chance: rows may have come into bags at random, which is the hardest case"
    )
    ratio = spread.ratio
    facts = [
        ("deviation", f"{spread.deviation:.3g}, and {spread.by_chance:.3g} in random bags"),
        (
            "variance ratio",
            f"{ratio.estimate:.3g} (95 % interval {ratio.low:.3g} to {ratio.high:.3g}); random "
            f"bags have {low:.2f} to {high:.2f}",
        ),
        ("", verdict + f" (p {_p(spread.p_value)})"),
    ]
    if spread.by_noise:
        facts.insert(1, ("", f"of which {spread.by_noise:.3g} by noise or rounding alone"))
    return facts


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.2g}"


def _means_facts(report: BagReport) -> Facts:
    means = report.means
    if means is None:
        return []
    constant = f", {means.n_constant:,} of them constant" if means.n_constant else ""
    facts = [("columns", f"{means.n_features:,}{constant}")]
    if means.rank is not None:
        most = min(report.n_bags - 1, means.n_features - means.n_constant)
        facts.append(("directions", f"{means.rank:,}, of {most:,} that are possible"))
    if means.condition is not None:
        facts.append(("condition", f"{means.condition:.3g}, of the means along these"))
    facts.append(
        ("variance ratio", f"{means.spread_ratio:.3g}, mean over columns; 1 in random bags")
    )
    return facts


def loss_facts(report: BagReport) -> Facts:
    """Say what accuracy bags of such sizes allowed."""
    loss = report.expected_loss
    rows = float(np.median(report.rows_per_bag))
    like = f", as of exact bags of {loss.bag_size:,.0f}" if loss.bag_size > 1.05 * rows else ""
    return [
        ("lost", f"{loss} on fresh rows, against training with true labels{like}"),
        ("", f"in eight of ten tasks; in the worst {loss.worst:.0f}"),
        (
            "measured",
            "in the library's league (2026-11-30), on random exact bags, at most 100 of 8 rows "
            "and 25 of 32 or 100: more bags, and bags whose shares spread, lose less",
        ),
    ]


def _three(values: np.ndarray) -> tuple[float, float, float]:
    return float(values.min()), float(np.median(values)), float(values.max())


def _do(number: int, one: str, many: str) -> str:
    return one if number == 1 else many


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
