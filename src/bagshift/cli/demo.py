# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift demo``: example files, the commands on them, a table and a picture."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained

if TYPE_CHECKING:
    from bagshift.cli._screen import Screen
    from bagshift.workflows.demo_files import DemoFiles
    from bagshift.workflows.demo_results import DemoResults

MODEL = "model.skops"
IC_MODEL, ALONE_MODEL, TGPLM_MODEL = "ic_svm.skops", "shares_only.skops", "tgplm.skops"
PREDICTIONS, PICTURE = "predictions.csv", "picture.png"


@explained
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Of the draw.")] = 0,
    debug: options.Debug = False,
) -> None:
    """Show everything on example files.

    Writes handwritten threes and eights (upright with labels, rotated in bags
    with shares) as CSV and Parquet, fits, predicts and evaluates on them, and
    ends with a table and a picture.
    """
    from bagshift.cli._screen import Screen
    from bagshift.persistence import load_model
    from bagshift.workflows.demo_files import write_demo_files
    from bagshift.workflows.demo_results import (
        ALONE,
        BOTH,
        IC_SVM,
        TGPLM,
        compare_methods,
        save_picture,
    )

    screen = Screen()
    files = write_demo_files(output, seed)
    _introduce(screen, files)
    for command in _commands(files):
        _run(screen, command, debug)
    names = {IC_SVM: IC_MODEL, ALONE: ALONE_MODEL, TGPLM: TGPLM_MODEL, BOTH: MODEL}
    models = {method: load_model(output / name) for method, name in names.items()}
    results = compare_methods(files, models)
    save_picture(files, results, output / PICTURE)
    _conclude(screen, files, results)


def _introduce(screen: Screen, files: DemoFiles) -> None:
    digits = files.digits
    screen.heading("Example files")
    screen.facts(
        [
            (files.history.name, f"{len(digits.X_source)} upright digits with labels 3 and 8"),
            (
                files.target.name,
                f"{len(digits.X_bagged)} digits rotated by {digits.angle:g} degrees, in bags of "
                "8, without labels",
            ),
            (files.shares.name, "the share of eights in each bag"),
            (
                files.fresh.name,
                f"{len(digits.X_fresh)} more rotated digits, with labels to test against",
            ),
        ]
    )


def _commands(files: DemoFiles) -> list[list[str]]:
    folder = files.folder
    bags = ["--target", str(files.target), "--bag", "bag"]
    shares = ["--shares", str(files.shares), "--share-column", "share"]
    history = ["--source", str(files.history), "--label", "label", "--positive", "8"]
    model = str(folder / MODEL)
    return [
        ["check", *bags, *shares, *history, "--id", "id"],
        ["fit", *bags, *shares, *history, "--id", "id", "-o", model],
        ["predict", model, str(files.target), *shares, "-o", str(folder / PREDICTIONS)],
        ["evaluate", model, "--target", str(files.target), *shares],
        ["evaluate", model, "--target", str(files.fresh), "--label", "label"],
        *_other_fits(files),
    ]


def _other_fits(files: DemoFiles) -> list[list[str]]:
    """Return fits to compare with: shares alone by either method, and both by mean scores."""
    bags = ["--target", str(files.target), "--bag", "bag"]
    shares = ["--shares", str(files.shares), "--share-column", "share"]
    history = ["--source", str(files.history), "--label", "label"]
    naming = ["--positive", "8", "--id", "id", "--quiet"]
    return [
        ["fit", "--method", method, *bags, *shares, *more, *naming, "-o", str(files.folder / name)]
        for name, method, more in (
            (IC_MODEL, "ic-svm", []),
            (ALONE_MODEL, "count-likelihood", []),
            (TGPLM_MODEL, "tgplm", history),
        )
    ]


def _run(screen: Screen, command: list[str], debug: bool) -> None:
    """Print a command line and run it in this process."""
    from bagshift.cli.app import app

    screen.say()
    screen.command(f"$ bagshift {shlex.join(command)}")
    code = app([*command, *(["--debug"] if debug else [])], "bagshift", standalone_mode=False)
    if code:
        raise typer.Exit(code)


def _conclude(screen: Screen, files: DemoFiles, results: DemoResults) -> None:
    screen.say()
    screen.heading(
        f"Accuracy on {results.n_fresh} fresh rows (one draw, seed {files.seed}; good to 4 points)"
    )
    screen.table(
        ["learned from", "accuracy"],
        [[name, f"{value:.3f}"] for name, value in results.accuracies.items()],
    )
    screen.say()
    screen.say(f"Picture: {files.folder / PICTURE}")
    screen.say(f"Predictions: {files.folder / PREDICTIONS}")
