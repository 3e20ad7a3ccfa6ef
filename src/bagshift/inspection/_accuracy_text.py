# SPDX-License-Identifier: BSD-3-Clause
"""An estimate of accuracy in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bagshift.exceptions import plural
from bagshift.inspection._interval import Interval

if TYPE_CHECKING:
    from bagshift.inspection.estimate_accuracy import AccuracyEstimate

_LABELS = {
    "accuracy": "accuracy",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "positive_predictive_value": "positive predictive value",
    "negative_predictive_value": "negative predictive value",
    "auc": "area under the ROC curve",
}
_FEW_BAGS = 10


def accuracy_text(found: AccuracyEstimate) -> str:
    """Return an estimate as aligned text.

    Parameters
    ----------
    found : AccuracyEstimate

    Returns
    -------
    str
    """
    held_out = f"{plural(found.n_rows, 'row')} in {plural(found.n_bags, 'bag')}"
    lines = [
        f"Accuracy without labels, from {held_out}, each scored by a machine that held it out",
        "",
        f"{'':27}{'count posterior':24}Goodman's regression",
    ]
    for name, label in _LABELS.items():
        own, check = getattr(found.count_posterior, name), getattr(found.goodman, name)
        lines.append(f"{label:27}{_shown(own):24}{_shown(check)}".rstrip())
    temperature = f"{found.temperature.estimate:.2f}"
    ends = f"[{found.temperature.low:.2f}, {found.temperature.high:.2f}]"
    within = " within bags" if found.bags_differ else ""
    lines += [
        "",
        f"{'chance':27}{100 * found.chance:5.1f} %, by calling every row the larger class",
        f"{'temperature of scores':27}{temperature:>5}  {ends}{within}; 0 would be guessing",
        f"{'positive class':27}{found.positive_class}",
        f"{'verdict':27}{_verdict(found)}",
        f"Brackets: {100 * found.level:g} % intervals, {found.n_bootstrap:,} resamples of bags.",
    ]
    lines += [f"Warning: {warning}" for warning in found.warnings]
    lines.append("Assumed: " + "; ".join(found.assumptions) + ".")
    return "\n".join(lines)


def warnings_of(found: AccuracyEstimate) -> tuple[str, ...]:
    """Return what speaks against an estimate, a sentence each.

    Parameters
    ----------
    found : AccuracyEstimate

    Returns
    -------
    tuple of str
    """
    warnings = []
    if not found.can_tell:
        warnings.append(
            "cannot tell: these bags do not tell the predictions from guesses, and their accuracy "
            "may lie anywhere in the interval, or near chance."
        )
    if found.bags_differ:
        warnings.append(
            "scores differ between bags by more than chance, so the estimate rests on what holds "
            "within bags alone; Goodman's regression does not, and may be far off."
        )
    if not found.agree:
        warnings.append(
            f"the two ways disagree, {100 * found.accuracy.estimate:.1f} % by the count posterior "
            f"and {100 * found.goodman.accuracy.estimate:.1f} % by Goodman's regression: an "
            "assumption of one of them may fail here."
        )
    if math.isnan(found.goodman.accuracy.estimate):
        warnings.append(
            "all bags have the same predicted share, so Goodman's regression says nothing."
        )
    if found.n_bags < _FEW_BAGS:
        warnings.append(
            f"there are only {plural(found.n_bags, 'bag')}, and resampling so few makes intervals "
            "too narrow."
        )
    return tuple(warnings)


def _shown(figure: Interval) -> str:
    if math.isnan(figure.estimate):
        return "    -"
    low, high = 100 * figure.low, 100 * figure.high
    return f"{100 * figure.estimate:5.1f} %  [{low:.1f}, {high:.1f}]"


def _verdict(found: AccuracyEstimate) -> str:
    if not found.can_tell:
        return "cannot tell"
    if found.accuracy.low > found.chance:
        return "better than chance"
    return "rows are told apart, but labels are not surely better than chance"
