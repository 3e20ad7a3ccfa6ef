# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift evaluate``: predictions against given shares and, where there are some, labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained, say_error
from bagshift.cli.predict import Model

if TYPE_CHECKING:
    from bagshift.cli._screen import Screen
    from bagshift.workflows.class_evaluation import ClassEvaluation
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
    share_columns: options.ShareColumns = None,
    count_columns: options.CountColumns = None,
    other: options.Other = None,
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
    share_column, count_column = options.first_of(share_columns), options.first_of(count_columns)
    by_shares = share_column is not None or count_column is not None
    if not by_shares and (shares is not None or label is None):
        raise typer.BadParameter(
            "give shares to compare with (--share-column or --count-column), --label, or both."
        )
    from bagshift.cli._files import check_inputs, loading
    from bagshift.cli._screen import Screen
    from bagshift.workflows.first_look import look_first

    check_inputs(model, target, shares)
    options.check_share_options(shares, shares_bag, share_column, count_column)
    law = None if noise is None else options.noise_request(noise)
    look_first(
        model,
        target,
        order="MODEL --target ROWS",
        wanted=(label,),
        bag=bag,
        shares=shares,
        shares_bag=shares_bag,
        share_columns=(
            *(share_columns or ()),
            *(count_columns or ()),
            size_column,
            law.column if law else None,
        ),
    )
    with loading(model, quiet):
        from bagshift.workflows.class_evaluation import evaluate_classes
        from bagshift.workflows.evaluation import evaluate_model
        from bagshift.workflows.models import open_model

        saved, notes = open_model(model)
    bags = None
    if by_shares:
        bags = options.with_classes(
            options.bag_request(
                target,
                options.bag_as_at_fit(bag, saved.manifest.bag_column),
                shares,
                shares_bag,
                share_column,
                count_column,
                size_column,
                on_unmatched,
                noise,
            ),
            share_columns or count_columns,
            other,
        )
    if len(saved.manifest.classes) > 2:
        of_classes = evaluate_classes(saved, target, bags=bags, label=label)
        _show_classes(Screen(quiet), of_classes, target, notes)
        return
    if bags is not None and bags.has_more_classes:
        raise typer.BadParameter(
            f"the model has two classes; give one --share-column or --count-column, that of "
            f"{saved.manifest.positive}."
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
    from bagshift.cli._screen import printable

    facts = [
        ("rows", f"{target.name}: {_in_sample_or_fresh(found.n_rows, found.n_fitted_rows)}"),
        *_predicted_share(found, positive),
    ]
    if found.accuracy:
        facts += _accuracy_facts(found.accuracy)
    if found.shares and bags is not None:
        facts += _share_facts(found.shares, bags, found.by_probability)
    screen.facts(facts)
    if found.shares:
        for doubt in found.shares.doubts:
            say_error(f"Warning: {printable(doubt)}")
        if found.shares.counts and not found.shares.counts.columns_help:
            say_error(
                "Warning: the columns do not help to predict the numbers of these bags; do not "
                "trust predictions of single rows."
            )
        echo_findings(found.shares.findings, drop=bags is not None and bags.on_unmatched == "drop")
        _show_worst(screen, found.shares, worst, found.by_probability)


def _show_classes(screen: Screen, found: ClassEvaluation, target: Path, notes: list[str]) -> None:
    from bagshift.cli._echo import share_error_meaning, without_columns
    from bagshift.exceptions import plural

    for note in [*notes, *found.notes]:
        screen.say(note)
    rows = _in_sample_or_fresh(found.n_rows, found.n_fitted_rows)
    facts = [("rows", f"{target.name}: {rows}")]
    for kind, value, number in (
        ("fresh", found.fresh, found.n_fresh),
        ("in-sample", found.in_sample, found.n_in_sample),
    ):
        if value is not None:
            facts.append(("accuracy", f"{value:.3f} on {plural(number, f'{kind} row')}"))
    if found.share_error is not None and found.constant_share_error is not None:
        facts += [
            ("share error", f"{found.share_error:.3f} over {plural(found.n_bags, 'bag')}"),
            ("", without_columns(found.constant_share_error)),
            ("", share_error_meaning(found.by_probability)),
        ]
    if found.fresh is not None or found.in_sample is not None:
        facts.append(
            ("", "recall: right among the rows of a class; precision: among those called so")
        )
    screen.facts(facts)
    screen.say()
    shown = [name for name in found.table.columns if found.table[name].null_count() == 0]
    screen.table(
        shown,
        [
            [row["class"], *(f"{row[name]:.3f}" for name in shown[1:])]
            for row in found.table.iter_rows(named=True)
        ],
    )


def _predicted_share(found: Evaluation, positive: str) -> list[tuple[str, str]]:
    labelled = f"{found.labelled_share:.3f} of the rows are labelled {positive}"
    if not found.by_probability:
        return [("predicted share", labelled)]
    return [
        ("predicted share", f"{found.predicted_share:.3f}, the mean probability of {positive}"),
        ("", labelled),
    ]


def _share_facts(
    shares: ShareErrors, request: BagRequest, by_probability: bool
) -> list[tuple[str, str]]:
    from bagshift.cli._echo import count_facts, share_error_meaning, without_columns
    from bagshift.exceptions import plural

    in_sample = shares.n_fitted_bags
    kind = f", {in_sample:,} of which the model was fitted on" if in_sample else ""
    facts = [
        ("share error", f"{shares.overall:.3f} over {plural(shares.bags.height, 'bag')}{kind}"),
        ("", without_columns(shares.constant)),
        ("", share_error_meaning(by_probability)),
    ]
    if by_probability:
        facts.insert(2, ("", f"{shares.by_labels:.3f} if predicted labels are counted instead"))
    if shares.is_noisy:
        facts.append(("", "the given shares are noisy, and that is a part of it"))
    if shares.counts:
        facts += count_facts(shares.counts, request)
    return facts


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


def _show_worst(screen: Screen, shares: ShareErrors, worst: int, by_probability: bool) -> None:
    listed = shares.bags.head(worst)
    if listed.is_empty():
        return
    screen.say()
    if shares.overall < NOTHING:
        screen.say("Every bag has its given share.")
        return
    title = "Worst bags" if listed.height < shares.bags.height else "Bags, worst first"
    if shares.is_noisy:
        title += ", by error against spread (what noise and chance explain)"
    screen.heading(title)
    columns = {"rows": "{:,}", "given": "{:.3f}", "predicted": "{:.3f}"}
    if by_probability:
        columns["labelled"] = "{:.3f}"
    columns["error"] = "{:+.3f}"
    if shares.is_noisy:
        columns["spread"] = "{:.3f}"
    screen.table(
        ["bag", *columns],
        [
            [row["bag"], *(shown.format(row[name]) for name, shown in columns.items())]
            for row in listed.iter_rows(named=True)
        ],
    )
