# SPDX-License-Identifier: BSD-3-Clause
"""Put what was read, fitted and found into words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagshift.cli._errors import say_error
from bagshift.cli._screen import Screen, printable
from bagshift.exceptions import name_some, plural

if TYPE_CHECKING:
    from bagshift.bags import Bags
    from bagshift.workflows.count_fit import CountFit
    from bagshift.workflows.findings import Finding
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
        _classes(inputs),
        *bag_facts(inputs.bags, inputs.request.bags),
        ("history", _history(inputs)),
        ("columns used", columns_used(inputs.columns.kinds)),
        *columns_ignored(inputs.columns.ignored),
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
        ("bag sizes", in_range(bags.rows_per_bag, "rows")),
    ]
    if request.size_column:
        facts.append(("declared sizes", in_range(bags.sizes, "individuals")))
    if bags.classes is not None:
        return [*facts, *_class_share_facts(bags, request)]
    mean = float(bags.positive_shares @ bags.sizes / bags.sizes.sum()) if bags.n_bags else 0.0
    where = (request.shares or request.target).name
    column = f"{'from counts ' if request.by_count else ''}{request.value_column!r} of {where}"
    low, high = bags.positive_shares.min(), bags.positive_shares.max()
    facts.append(("shares", f"{column}, from {low:.3g} to {high:.3g}, {mean:.3g} overall"))
    if request.noise:
        facts.append(("noise", request.noise.describe()))
    return facts


def _class_share_facts(bags: Bags, request: BagRequest) -> Facts:
    """Say between which numbers the shares of every class lie."""
    where = (request.shares or request.target).name
    overall = bags.sizes @ bags.shares / bags.sizes.sum()
    lowest, highest = bags.shares.min(axis=0), bags.shares.max(axis=0)
    lines = [
        f"{label}: from {low:.3g} to {high:.3g}, {mean:.3g} overall"
        for label, low, high, mean in zip(
            bags.classes or (), lowest, highest, overall, strict=True
        )
    ]
    what = "counts" if request.by_count else "shares"
    return [("shares", f"{what} of {where}"), *(("", line) for line in lines)]


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
            say_error(f"Dropped: {printable(finding.as_dropped)}")


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
    facts = [("settings", settings_text(outcome.settings))]
    facts += _share_error_facts(outcome)
    held_out = outcome.held_out_counts
    if held_out is not None:
        facts += count_facts(held_out, inputs.request.bags, "held-out ")
    inside = " (training rows are inside: share it like the data)"
    facts.append(("saved", f"{output}{inside if manifest.holds_training_rows else ''}"))
    screen.facts(facts)
    if held_out is not None and not held_out.columns_help:
        say_error(
            "Warning: the columns did not help to predict the numbers of held-out bags; do not "
            "trust predictions of single rows."
        )
    screen.say()
    screen.say("Next:")
    plain, in_bags = _next_commands(inputs, output)
    screen.command(f"  {plain}")
    if machine.method == "count-likelihood":
        screen.say("or, with what the numbers of their own bags say of the rows:")
        screen.command(f"  {in_bags}")


def _next_commands(inputs: FitInputs, output: Path) -> tuple[str, str]:
    """Return commands that predict the target rows, alone and in their bags."""
    bags = inputs.request.bags
    words = ["bagshift", "predict", str(output), str(bags.target)]
    if inputs.id_column is not None:
        words += ["--id", inputs.id_column]
    options = {
        "--shares": bags.shares,
        "--shares-bag": bags.shares_bag,
        "--share-column": None if bags.has_more_classes else bags.share_column,
        "--count-column": None if bags.has_more_classes else bags.count_column,
        "--other": bags.other,
        "--size-column": bags.size_column,
        "--noise": bags.noise.as_option() if bags.noise else None,
        "--on-unmatched": "drop" if bags.on_unmatched == "drop" else None,
    }
    more = [str(x) for name, value in options.items() if value is not None for x in (name, value)]
    by = "--count-column" if bags.by_count else "--share-column"
    more += [word for name in bags.class_columns for word in (by, name)]
    return (
        shlex.join([*words, "-o", "predictions.csv"]),
        shlex.join([*words, *more, "-o", "in_bags.csv"]),
    )


def _share_error_facts(outcome: FitOutcome) -> Facts:
    if outcome.held_out_share_error is None:
        first = "not estimated: it takes at least two bags"
    else:
        n = outcome.n_settings
        best = f" (optimistic: the best of {n} settings)" if n > 1 else ""
        first = f"{outcome.held_out_share_error:.3f} on held-out bags{best}"
    return [
        ("share error", first),
        ("", without_columns(outcome.constant_share_error)),
        ("", f"{outcome.share_error:.3f} on the bags it was fitted on"),
        ("", share_error_meaning(outcome.by_probability)),
    ]


def without_columns(error: float) -> str:
    """Say what the share error would be if the columns said nothing.

    Parameters
    ----------
    error : float
        Share error of the overall share.

    Returns
    -------
    str
    """
    return f"{error:.3f} without the columns, by the overall share alone"


def share_error_meaning(by_probability: bool) -> str:
    """Say what a share error compares.

    Parameters
    ----------
    by_probability : bool
        Whether predicted shares are mean probabilities; shares of predicted labels otherwise.

    Returns
    -------
    str
    """
    predicted = "mean probability" if by_probability else "share of predicted labels"
    return (
        f"the mean distance of a bag's {predicted} from its given share; not the accuracy of rows"
    )


def count_facts(counts: CountFit, request: BagRequest, kind: str = "") -> Facts:
    """Say how likely the numbers of bags were, if possible as a probability.

    Parameters
    ----------
    counts : CountFit
        What was found.
    request : BagRequest
        Says whether they are counts or shares.
    kind : str, default=""
        Which bags, in front of the name of the fact.

    Returns
    -------
    list of (str, str)
    """
    log = f"log-likelihood {counts.log_likelihood:.2f}"
    if not counts.is_exact:
        what = "counts" if request.by_count else "shares"
        return [
            (f"{kind}{what}", f"{log} per bag; higher is better"),
            ("", f"{counts.without_columns:.2f} without the columns"),
        ]
    chance, least = (f"{math.exp(x):.2g}" for x in (counts.log_likelihood, counts.without_columns))
    return [
        (f"{kind}counts", f"probability {chance} on average ({log} per bag)"),
        ("", f"{least} without the columns ({counts.without_columns:.2f})"),
    ]


def _classes(inputs: FitInputs) -> tuple[str, str]:
    request = inputs.request.bags
    what = "counts" if request.by_count else "shares"
    if inputs.bags.classes is not None:
        rest = f"; {request.other} has what the {what} leave" if request.other else ""
        return "classes", f"{', '.join(map(str, inputs.bags.classes))}{rest}"
    return (
        "positive class",
        f"{inputs.positive}: the {what} are of this class; the other one is {inputs.negative}",
    )


def _history(inputs: FitInputs) -> str:
    if inputs.labels is None or inputs.request.source is None or inputs.X_source is None:
        return "none"
    labels = inputs.labels
    shown = (labels.positive, labels.negative)
    if labels.positive is None:
        shown = tuple(labels.classes)
    numbers = (f"{int((labels.values == label).sum()):,} are {label}" for label in shown)
    text = (
        f"{inputs.request.source.name}: {plural(inputs.X_source.height, 'row')}, "
        f"{', '.join(numbers)}"
    )
    if labels.n_missing:
        text += f"; {plural(labels.n_missing, 'row')} without label left out"
    return text


def columns_used(kinds: Mapping[str, str]) -> str:
    """Count columns by kind, and name some.

    Parameters
    ----------
    kinds : mapping of str to str
        Kinds of the columns.

    Returns
    -------
    str
    """
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        by_kind.setdefault(kind, []).append(name)
    return "; ".join(
        f"{len(names)} {kind}{'s' if len(names) > 1 and kind != 'text' else ''} "
        f"({', '.join(map(_on_a_line, names[:4]))}{', ...' if len(names) > 4 else ''})"
        for kind, names in by_kind.items()
    )


def _on_a_line(name: str) -> str:
    """Write a name that would break a line as Python would write it."""
    return name if name.isprintable() else repr(name)


def columns_ignored(ignored: Mapping[str, str]) -> Facts:
    """Name columns that are not learned from, by reason.

    Parameters
    ----------
    ignored : mapping of str to str
        Reasons by column.

    Returns
    -------
    list of (str, str)
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in ignored.items():
        by_reason.setdefault(reason, []).append(name)
    lines = [f"{name_some(names)}: {reason}" for reason, names in by_reason.items()]
    return [("columns ignored" if not i else "", line) for i, line in enumerate(lines)]


def in_range(values: Any, unit: str) -> str:
    """Say between which numbers values are.

    Parameters
    ----------
    values : ndarray
    unit : str
        What they count.

    Returns
    -------
    str
    """
    low, high = float(values.min()), float(values.max())
    if low == high:
        return f"{low:,.0f} {unit} each"
    return f"{low:,.0f} to {high:,.0f} {unit}"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Write settings on a line.

    Parameters
    ----------
    settings : mapping of str to object

    Returns
    -------
    str
    """
    return ", ".join(f"{name}={_short(value)}" for name, value in settings.items())


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
