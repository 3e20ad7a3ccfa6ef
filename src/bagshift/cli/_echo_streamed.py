# SPDX-License-Identifier: BSD-3-Clause
"""Put a fit on files bigger than memory into words."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from bagshift.cli._echo import (
    Facts,
    columns_ignored,
    columns_used,
    count_facts,
    echo_findings,
    in_range,
    settings_text,
    share_error_meaning,
    without_columns,
)
from bagshift.cli._errors import say_error
from bagshift.cli._screen import Screen, printable
from bagshift.exceptions import plural

if TYPE_CHECKING:
    from bagshift.workflows.requests import FitRequest, MachineRequest
    from bagshift.workflows.streamed_fit import StreamedOutcome
    from bagshift.workflows.streamed_inputs import StreamedInputs


def echo_streamed_inputs(screen: Screen, inputs: StreamedInputs) -> None:
    """Say what was read, the positive class first.

    Parameters
    ----------
    screen : Screen
        Where to.
    inputs : StreamedInputs
        What was read.
    """
    request, bags = inputs.request.bags, inputs.bags
    assert bags.shares is not None
    assert bags.sizes is not None
    n_rows = int(bags.n_rows.sum())
    outside = inputs.n_target - n_rows
    more = f", {outside:,} more in no bag" if outside else ""
    what = "counts" if request.by_count else "shares"
    mean = float(bags.shares @ bags.sizes / bags.sizes.sum())
    column = f"{'from counts ' if request.by_count else ''}{request.value_column!r}"
    low, high = float(bags.shares.min()), float(bags.shares.max())
    facts: Facts = [
        (
            "positive class",
            f"{inputs.positive}: the {what} are of this class; the other one is {inputs.negative}",
        ),
        (
            "target",
            f"{request.target.name}: {plural(n_rows, 'row')} in "
            f"{plural(bags.n_bags, 'bag')}{more}",
        ),
        ("bag sizes", in_range(bags.n_rows, "rows")),
    ]
    if request.size_column:
        facts.append(("declared sizes", in_range(bags.sizes, "individuals")))
    where = "" if request.shares is None else f" of {request.shares.name}"
    facts += [
        ("shares", f"{column}{where}, from {low:.3g} to {high:.3g}, {mean:.3g} overall"),
        *([("noise", request.noise.describe())] if request.noise else []),
        ("history", _history(inputs)),
        ("columns used", columns_used(inputs.preparation.kinds)),
        *columns_ignored(inputs.preparation.ignored),
    ]
    screen.heading("Read")
    screen.facts(facts)
    echo_findings(inputs.findings)
    tables = (request.target.name, "" if request.shares is None else request.shares.name)
    for sentence in bags.unmatched.sentences(*tables):
        say_error(f"Dropped: {printable(sentence)}.")
    screen.say()


def echo_streamed_outcome(
    screen: Screen,
    request: FitRequest,
    machine: MachineRequest,
    outcome: StreamedOutcome,
    output: Path,
    seconds: float,
    work_folder: Path | None,
) -> None:
    """Say how the fit went and what to do next.

    Parameters
    ----------
    screen : Screen
        Where to.
    request : FitRequest
        What was read.
    machine : MachineRequest
        What was asked for.
    outcome : StreamedOutcome
        What was found.
    output : Path
        The model file.
    seconds : float
        Time this run took.
    work_folder : Path or None
        Where what was done is kept; None when it was removed.
    """
    screen.heading(f"Fitted {machine.method} in {_duration(seconds)}")
    history = ""
    if outcome.n_sampled_source:
        history = f" and {plural(outcome.n_sampled_source, 'row')} of history"
    facts: Facts = [
        ("settings", settings_text(outcome.fit.settings)),
        ("", f"chosen on {plural(outcome.n_sampled_bags, 'bag')}{history}")
        if outcome.fit.n_settings > 1
        else ("", "as given"),
        ("passes", f"{outcome.n_passes:,} over all rows"),
        ("share error", _held_out(outcome)),
        ("", without_columns(outcome.fit.constant_share_error)),
        (
            "",
            f"{outcome.fit.share_error:.3f} on {plural(outcome.n_sampled_bags, 'bag')} of those "
            "it was fitted on",
        ),
        ("", share_error_meaning(outcome.fit.by_probability)),
    ]
    if outcome.fit.held_out_counts is not None:
        facts += count_facts(outcome.fit.held_out_counts, request.bags, "held-out ")
    facts.append(("saved", str(output)))
    if work_folder is not None:
        facts.append(("", f"{work_folder} keeps what was done; delete it when you like"))
    screen.facts(facts)
    if outcome.fit.held_out_counts is not None and not outcome.fit.held_out_counts.columns_help:
        say_error(
            "Warning: the columns did not help to predict the numbers of held-out bags; do not "
            "trust predictions of single rows."
        )
    screen.say()
    screen.say("Next, for a file or a folder of rows:")
    words = ["bagshift", "predict", str(output), "ROWS", "--memory", "4GB"]
    words += ["-o", "predictions.parquet"]
    screen.command(f"  {shlex.join(words)}")


def _held_out(outcome: StreamedOutcome) -> str:
    if outcome.fit.held_out_share_error is None:
        return "not estimated: it takes at least two bags"
    best = ""
    if outcome.fit.n_settings > 1:
        best = f", optimistic: the best of {outcome.fit.n_settings} settings"
    error = outcome.fit.held_out_share_error
    return f"{error:.3f} on held-out bags (by machines fitted to the sample{best})"


def _history(inputs: StreamedInputs) -> str:
    source = inputs.request.source
    if source is None:
        return "none"
    counts = inputs.label_counts
    text = (
        f"{source.name}: {plural(sum(counts.values()), 'row')}, {counts[inputs.positive]:,} are "
        f"{inputs.positive}, {counts[inputs.negative]:,} are {inputs.negative}"
    )
    if inputs.n_unlabelled:
        text += f"; {plural(inputs.n_unlabelled, 'row')} without label left out"
    return text


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
