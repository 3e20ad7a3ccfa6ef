# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift check``: the troubles of the files in words, before fitting."""

from __future__ import annotations

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained, in_options


@explained
def check(
    target: options.Target,
    bag: options.Bag,
    shares: options.Shares = None,
    shares_bag: options.SharesBag = None,
    share_columns: options.ShareColumns = None,
    count_columns: options.CountColumns = None,
    other: options.Other = None,
    size_column: options.SizeColumn = None,
    noise: options.Noise = None,
    source: options.Source = None,
    label: options.Label = None,
    positive: options.Positive = None,
    negative: options.Negative = None,
    id_column: options.Id = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    on_unmatched: options.Unmatched = options.OnUnmatched.RAISE,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Look for trouble in bags and shares, before fitting.

    Takes the options of `bagshift fit`. Ends with exit code 1 if there are errors.
    """
    from bagshift.cli._echo import bag_facts, input_facts
    from bagshift.cli._screen import Screen
    from bagshift.exceptions import plural
    from bagshift.inspection._bag_text import loss_facts, spread_facts
    from bagshift.workflows.checking import check_files
    from bagshift.workflows.requests import FitRequest

    options.check_source_options(source, label)
    options.check_class_options(positive, negative)
    bags = options.with_classes(
        options.bag_request(
            target,
            bag,
            shares,
            shares_bag,
            options.first_of(share_columns),
            options.first_of(count_columns),
            size_column,
            on_unmatched,
            noise,
        ),
        share_columns or count_columns,
        other,
    )
    options.check_no_positive(bags, positive)
    request = FitRequest(
        bags=bags,
        source=source,
        label=label,
        positive=positive,
        negative=negative,
        id_column=id_column,
        only=options.names(columns),
        ignore=options.names(ignore),
    )
    report = check_files(request)
    screen = Screen(quiet)
    if report.inputs is not None:
        screen.facts(input_facts(report.inputs))
        screen.say()
    elif report.bags is not None:
        screen.facts(bag_facts(report.bags, bags))
        screen.say()
    if report.report is not None:
        screen.heading("Spread of shares")
        screen.facts(spread_facts(report.report))
        screen.say()
        screen.heading("Accuracy that bags of such sizes allowed")
        screen.facts(loss_facts(report.report))
        screen.say()
    for finding in report.findings:
        screen.item(finding.level, in_options(finding.text))
    if report.n_errors:
        screen.say()
        screen.say(f"{plural(report.n_errors, 'error')}; a fit would not start.")
        raise typer.Exit(1)
    screen.say("No errors: ready for `bagshift fit`.")
