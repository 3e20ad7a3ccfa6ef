# SPDX-License-Identifier: BSD-3-Clause
"""The commands of ``bagshift``, put together.

Nothing heavy is imported here or at the top of a command's file: help must come at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from bagshift import __version__
from bagshift.cli.check import check
from bagshift.cli.demo import demo
from bagshift.cli.evaluate import evaluate
from bagshift.cli.fit import fit
from bagshift.cli.league import league
from bagshift.cli.predict import predict
from bagshift.cli.privacy import privacy
from bagshift.cli.report import report
from bagshift.cli.reproduce import reproduce

app = typer.Typer(
    name="bagshift",
    help="Classify individuals from the share of positives in each group, with labelled history.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bagshift {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


EXAMPLES = {
    fit: """For example, from shares alone, and with a column that names rows:

    \b
    bagshift fit --target people.csv --bag precinct --id person \\
                 --shares results.csv --share-column yes_share --positive yes \\
                 -o model.skops
    """,
    predict: """For example, alone, and with the shares of the rows' own bags:

    \b
    bagshift predict model.skops people.csv -o predictions.csv
    bagshift predict model.skops people.csv -o in_bags.csv \\
                     --shares results.csv --share-column yes_share
    """,
    evaluate: """For example, against shares, and against labels:

    \b
    bagshift evaluate model.skops --target people.csv \\
                      --shares results.csv --share-column yes_share
    bagshift evaluate model.skops --target people.csv --label voted
    """,
    report: """For example, with the history that the model was fitted with:

    \b
    bagshift report model.skops --target people.csv \\
                    --shares results.csv --share-column yes_share \\
                    --source history.csv -o report.html
    """,
    privacy: """For example, two releases about the same persons, and what noise would cost:

    \b
    bagshift privacy --target people.csv --count-column yes_votes \\
                     --bag precinct --release precincts.csv \\
                     --bag age_group --release ages.csv
    bagshift privacy --target people.csv --bag precinct --release precincts.csv \\
                     --share-column yes_share --epsilon 1
    """,
    league: """For example, a first look, and the whole of it:

    \b
    bagshift league --quick
    bagshift league --data FOLDER --output league
    """,
    reproduce: """For example, the Gaussians, with parameters chosen on source rows:

    \b
    bagshift reproduce synthetic --paper-selection source --draws 3
    """,
}
for command in (check, fit, predict, evaluate, report, privacy, demo, league, reproduce):
    app.command(epilog=EXAMPLES.get(command))(command)
