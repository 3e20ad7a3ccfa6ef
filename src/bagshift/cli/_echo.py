# SPDX-License-Identifier: BSD-3-Clause
"""Put what was read, fitted and found into words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagshift.cli._errors import say_error
from bagshift.cli._screen import Screen, printable
from bagshift.exceptions import name_some, plural

if TYPE_CHECKING:
    from bagshift.bags import Bags
    from bagshift.workflows.bag_check import Finding
    from bagshift.workflows.count_fit import CountFit
    from bagshift.workflows.fitting import FitOutcome
    from bagshift.workflows.inputs import FitInputs
    from bagshift.workflows.requests import BagRequest, MachineRequest

Facts = list[tuple[str, str]]


def echo_inputs(screen: Screen, inputs: FitInputs) -> None:
    """Say what was read, the positive class first.

    Parameters
    ----------
    screen : Screen
        Where to.
    inputs : FitInputs
        What was read.
    """
    screen.heading("Read")
    screen.facts(input_facts(inputs))
    echo_findings(inputs.findings, drop=inputs.request.bags.on_unmatched == "drop")
    screen.say()


def input_facts(inputs: FitInputs) -> Facts:
    """Describe what was read for a fit, the positive class first.

    Parameters
    ----------
    inputs : FitInputs
        What was read.

    Returns
    -------
    list of (str, str)
    """
    return [
        ("positive class", _positive_class(inputs)),
        *bag_facts(inputs.bags, inputs.request.bags),
        ("history", _history(inputs)),
        ("columns used", _columns_used(inputs)),
        *_columns_ignored(inputs),
    ]


def bag_facts(bags: Bags, request: BagRequest) -> Facts:
    """Describe target rows, bags and shares.

    Parameters
    ----------
    bags : Bags
        As built.
    request : BagRequest
        Where they were found.

    Returns
    -------
    list of (str, str)
    """
    in_bags = len(bags.rows_in_bags())
    outside = f", {len(bags) - in_bags:,} more in no bag" if in_bags < len(bags) else ""
    facts = [
        (
            "target",
            f"{request.target.name}: {plural(in_bags, 'row')} in {plural(bags.n_bags, 'bag')}"
            f"{outside}",
        ),
        ("bag sizes", _range(bags.rows_per_bag, "rows")),
    ]
    if request.size_column:
        facts.append(("declared sizes", _range(bags.sizes, "individuals")))
    mean = float(bags.positive_shares @ bags.sizes / bags.sizes.sum()) if bags.n_bags else 0.0
    where = (request.shares or request.target).name
    column = f"{'from counts ' if request.by_count else ''}{request.value_column!r} of {where}"
    low, high = bags.positive_shares.min(), bags.positive_shares.max()
    facts.append(("shares", f"{column}, from {low:.3g} to {high:.3g}, {mean:.3g} overall"))
    if request.noise:
        facts.append(("noise", request.noise.describe()))
    return facts


def echo_findings(findings: Sequence[Finding], *, drop: bool = False) -> None:
    """Print warnings, and what was dropped, on the error stream.

    Parameters
    ----------
    findings : sequence of Finding
        From the check of the bags.
    drop : bool, default=False
        Whether droppable errors were dropped.
    """
    for finding in findings:
        if finding.level == "warning":
            say_error(f"Warning: {printable(finding.text)}")
        elif finding.level == "error" and finding.droppable and drop:
            say_error(f"Dropped: {printable(finding.without_advice)}")


def echo_outcome(
    screen: Screen,
    inputs: FitInputs,
    machine: MachineRequest,
    outcome: FitOutcome,
    output: Path,
    seconds: float,
) -> None:
    """Say how the fit went and what to do next.

    Parameters
    ----------
    screen : Screen
        Where to.
    inputs : FitInputs
        What was read.
    machine : MachineRequest
        What was asked for.
    outcome : FitOutcome
        What was found.
    output : Path
        The model file.
    seconds : float
        Time it took.
    """
    manifest = outcome.saved.manifest
    screen.heading(f"Fitted {machine.method} in {seconds:.1f} s")
    settings = ", ".join(f"{name}={_short(value)}" for name, value in outcome.settings.items())
    facts = [("settings", settings)]
    if outcome.held_out_share_error is None:
        facts.append(("share error", "not estimated: it takes at least two bags"))
    else:
        n = outcome.n_settings
        best = f" (optimistic: the best of {n} settings)" if n > 1 else ""
        facts.append(("share error", f"{outcome.held_out_share_error:.3f} on held-out bags{best}"))
    facts.append(("", f"{outcome.share_error:.3f} on the bags it was fitted on"))
    facts.append(("", "the mean distance of predicted and given share; not the accuracy of rows"))
    if outcome.counts is not None:
        facts += _count_facts(outcome.counts, inputs.request.bags)
    inside = " (training rows are inside: share it like the data)"
    facts.append(("saved", f"{output}{inside if manifest.holds_training_rows else ''}"))
    screen.facts(facts)
    screen.say()
    screen.say("Next:")
    screen.command(f"  bagshift predict {output} {inputs.request.bags.target} -o predictions.csv")


def _count_facts(counts: CountFit, request: BagRequest) -> Facts:
    """Say how likely the numbers of held-out bags were, if possible as a probability."""
    log = f"log-likelihood {counts.held_out:.2f}"
    without = f"{counts.without_columns:.2f} if the columns said nothing"
    if not counts.is_exact:
        what = "held-out counts" if request.by_count else "held-out shares"
        return [(what, f"{log} per bag, {without}"), ("", "higher is better")]
    chance, least = (f"{math.exp(x):.2g}" for x in (counts.held_out, counts.without_columns))
    return [
        ("held-out counts", f"probability {chance} on average ({log} per bag)"),
        ("", f"{least} if the columns said nothing ({counts.without_columns:.2f})"),
    ]


def _positive_class(inputs: FitInputs) -> str:
    request = inputs.request.bags
    what = "counts" if request.by_count else "shares"
    return f"{inputs.positive}: the {what} are of this class; the other one is {inputs.negative}"


def _history(inputs: FitInputs) -> str:
    if inputs.labels is None or inputs.request.source is None or inputs.X_source is None:
        return "none"
    labels = inputs.labels
    n_positive = int((labels.values == labels.positive).sum())
    text = (
        f"{inputs.request.source.name}: {plural(inputs.X_source.height, 'row')}, {n_positive:,} "
        f"are {labels.positive}, {inputs.X_source.height - n_positive:,} are {labels.negative}"
    )
    if labels.n_missing:
        text += f"; {plural(labels.n_missing, 'row')} without label left out"
    return text


def _columns_used(inputs: FitInputs) -> str:
    by_kind: dict[str, list[str]] = {}
    for name, kind in inputs.columns.kinds.items():
        by_kind.setdefault(kind, []).append(name)
    return "; ".join(
        f"{len(names)} {kind}{'s' if len(names) > 1 and kind != 'text' else ''} "
        f"({', '.join(names[:4])}{', ...' if len(names) > 4 else ''})"
        for kind, names in by_kind.items()
    )


def _columns_ignored(inputs: FitInputs) -> Facts:
    by_reason: dict[str, list[str]] = {}
    for name, reason in inputs.columns.ignored.items():
        by_reason.setdefault(reason, []).append(name)
    lines = [f"{name_some(names)}: {reason}" for reason, names in by_reason.items()]
    return [("columns ignored" if not i else "", line) for i, line in enumerate(lines)]


def _range(values: Any, unit: str) -> str:
    low, high = float(values.min()), float(values.max())
    if low == high:
        return f"{low:,.0f} {unit} each"
    return f"{low:,.0f} to {high:,.0f} {unit}"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
