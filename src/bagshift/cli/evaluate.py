# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift evaluate``: predictions against given shares and, where there are some, labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained
from bagshift.cli.predict import Model

if TYPE_CHECKING:
    from bagshift.cli._screen import Screen
    from bagshift.workflows.evaluation import Accuracy, Evaluation, ShareErrors
    from bagshift.workflows.requests import BagRequest

WORST = 5
NOTHING = 0.0005


@explained
def evaluate(
    model: Model,
    target: options.Target,
    bag: options.BagAsAtFit = None,
    shares: options.Shares = None,
    shares_bag: options.SharesBag = None,
    share_column: options.ShareColumn = None,
    count_column: options.CountColumn = None,
    size_column: options.SizeColumn = None,
    noise: options.Noise = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="True labels, if there are any."),
    ] = None,
    on_unmatched: options.Unmatched = options.OnUnmatched.RAISE,
    worst: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, help="How many of the worst bags to list.")
    ] = WORST,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compare predictions with given shares and with labels.

    Needs shares (--shares or a column of the target), labels (--label), or both.
    """
    by_shares = share_column is not None or count_column is not None
    if not by_shares and (shares is not None or label is None):
        raise typer.BadParameter(
            "give shares to compare with (--share-column or --count-column), --label, or both."
        )
    from bagshift.cli._files import check_inputs, loading
    from bagshift.cli._screen import Screen

    check_inputs(model, target, shares)
    with loading(model, quiet):
        from bagshift.workflows.evaluation import evaluate_model
        from bagshift.workflows.models import open_model

        saved, notes = open_model(model)
    bags = None
    if by_shares:
        bags = options.bag_request(
            target,
            options.bag_as_at_fit(bag, saved.manifest.bag_column),
            shares,
            shares_bag,
            share_column,
            count_column,
            size_column,
            on_unmatched,
            noise,
        )
    found = evaluate_model(saved, target, bags=bags, label=label)
    screen = Screen(quiet)
    for note in [*notes, *found.notes]:
        screen.say(note)
    _show(screen, found, target, str(saved.manifest.positive), bags, worst)


def _show(
    screen: Screen,
    found: Evaluation,
    target: Path,
    positive: str,
    bags: BagRequest | None,
    worst: int,
) -> None:
    from bagshift.cli._echo import echo_findings
    from bagshift.exceptions import plural

    facts = [
        ("rows", f"{target.name}: {_in_sample_or_fresh(found.n_rows, found.n_fitted_rows)}"),
        ("predicted share", f"{found.predicted_share:.3f} of the rows are {positive}"),
    ]
    if found.accuracy:
        facts += _accuracy_facts(found.accuracy)
    if found.shares:
        in_sample = found.shares.n_fitted_bags
        of = plural(found.shares.bags.height, "bag")
        kind = "" if not in_sample else f", {in_sample:,} of which the model was fitted on"
        facts.append(("share error", f"{found.shares.overall:.3f} over {of}{kind}"))
        facts.append(
            ("", "the mean distance of predicted and given share; not the accuracy of rows")
        )
    screen.facts(facts)
    if found.shares:
        echo_findings(found.shares.findings, drop=bags is not None and bags.on_unmatched == "drop")
        _show_worst(screen, found.shares, worst)


def _in_sample_or_fresh(n_rows: int, n_fitted: int) -> str:
    if n_fitted == 0:
        return f"{n_rows:,}, all fresh (not fitted on)"
    if n_fitted == n_rows:
        return f"{n_rows:,}, all in-sample (fitted on)"
    return f"{n_fitted:,} in-sample (fitted on) and {n_rows - n_fitted:,} fresh"


def _accuracy_facts(accuracy: Accuracy) -> list[tuple[str, str]]:
    from bagshift.exceptions import plural

    facts = []
    for kind, value, number in (
        ("fresh", accuracy.fresh, accuracy.n_fresh),
        ("in-sample", accuracy.in_sample, accuracy.n_in_sample),
    ):
        if value is not None:
            facts.append(("accuracy", f"{value:.3f} on {plural(number, f'{kind} row')}"))
    if accuracy.n_unlabelled:
        facts.append(("", f"{plural(accuracy.n_unlabelled, 'row')} without label left out"))
    return facts


def _show_worst(screen: Screen, shares: ShareErrors, worst: int) -> None:
    listed = shares.bags.head(worst)
    if listed.is_empty():
        return
    screen.say()
    if shares.overall < NOTHING:
        screen.say("Every bag has its given share.")
        return
    screen.heading("Worst bags" if listed.height < shares.bags.height else "Bags, worst first")
    screen.table(
        ["bag", "rows", "given", "predicted", "error"],
        [
            [bag, f"{rows:,}", f"{given:.3f}", f"{predicted:.3f}", f"{error:+.3f}"]
            for bag, rows, given, predicted, error in listed.iter_rows()
        ],
    )
