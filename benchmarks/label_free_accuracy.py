# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy estimated without labels against the true one, by the accuracy protocol.

The machine is CountLikelihoodCV with a grid of nine settings; bags are held out in ten folds (one
by one below ten bags) around its whole search. Truth is the accuracy of the same out-of-bag scores
by the hidden labels; beside it stands the accuracy of the machine trained on all bags on rows of
no bag, which has a sampling error of its own.

Bars: mean absolute error of the count posterior of at most 2 points with bags of 8 and 4 with bags
of 32; its 95 % intervals hold the truth in at least 90 % of draws. Then rows that no method can
judge: columns of noise, columns shifted from bag to bag, and a column that follows the share of
the bag but not the label of the row. There "cannot tell" is the right answer, or an interval that
holds the truth.

    python benchmarks/label_free_accuracy.py --scores FOLDER [--draws 10] [--jobs 2] [--report]

Scores are kept in FOLDER and used again; figures of every draw go to FOLDER/cells.csv. All draws
take about an hour and a half of one core.
"""

import argparse
import csv
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _held_out_scores import HeldOut, held_out_scores, stored_scores
from _protocol import TASKS_WITHOUT_BAR, tasks_of
from numpy.typing import NDArray

from bagshift import Bags, CountLikelihoodClassifier, bag_cross_val_predict
from bagshift.inspection import AccuracyEstimate, estimate_accuracy

BARS = {8: 2.0, 32: 4.0}
COVERAGE = 0.90
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One draw; accuracies and ends of intervals between 0 and 1."""

    task: str
    bag_size: int
    draw: int
    truth: float
    fresh: float
    estimate: float
    low: float
    high: float
    goodman: float
    goodman_low: float
    goodman_high: float
    can_tell: bool
    agree: bool
    bags_differ: bool


def cell_of(
    task: str, bag_size: int, draw: int, truth: float, fresh: float, found: AccuracyEstimate
) -> Cell:
    """Return the figures of a draw."""
    own, check = found.accuracy, found.goodman.accuracy
    return Cell(
        task,
        bag_size,
        draw,
        truth,
        fresh,
        own.estimate,
        own.low,
        own.high,
        check.estimate,
        check.low,
        check.high,
        found.can_tell,
        found.agree,
        found.bags_differ,
    )


def judge(held_out: HeldOut) -> Cell:
    """Estimate the accuracy of a draw and compare."""
    is_positive = held_out.labels > 0
    sizes = np.bincount(held_out.bag_ids)
    counts = np.bincount(held_out.bag_ids, weights=is_positive)
    bags = Bags.from_arrays(
        held_out.bag_ids, dict(enumerate(counts / sizes)), positive=1, negative=-1
    )
    found = estimate_accuracy(None, None, bags, scores=held_out.scores)
    truth = float(np.mean((held_out.scores > 0) == is_positive))
    return cell_of(held_out.task, held_out.bag_size, held_out.draw, truth, held_out.fresh, found)


# Rows that cannot be judged ------------------------------------------------------------------


def noise(n_bags: int, bag_size: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Columns that say nothing."""
    n_rows = n_bags * bag_size
    return random.normal(size=(n_rows, 5)), (random.random(n_rows) < 0.4).astype(float)


def shifted(n_bags: int, bag_size: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """One column that tells the classes, moved by far more from bag to bag."""
    X, y = noise(n_bags, bag_size, random)
    X[:, 0] += 2.0 * y + np.repeat(2.0 * random.normal(size=n_bags), bag_size)
    return X, y


def share_not_label(
    n_bags: int, bag_size: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """One column that follows the share of the bag and has nothing to do with the row's label."""
    X, _ = noise(n_bags, bag_size, random)
    shares = np.repeat(random.random(n_bags), bag_size)
    X[:, 0] += 3.0 * shares
    return X, (random.random(len(shares)) < shares).astype(float)


ADVERSARIES: dict[str, Callable[[int, int, np.random.Generator], tuple[Floats, Floats]]] = {
    "noise": noise,
    "shifted between bags": shifted,
    "share, not label": share_not_label,
}


def adversarial(name: str, bag_size: int, draw: int) -> Cell:
    """Judge a machine on made-up rows: 60 bags of 8, or 20 of 32."""
    n_bags = {8: 60, 32: 20}[bag_size]
    X, y = ADVERSARIES[name](n_bags, bag_size, np.random.default_rng(draw))
    ids = np.repeat(np.arange(n_bags), bag_size)
    bags = Bags.from_arrays(ids, counts=dict(enumerate(np.bincount(ids, weights=y).astype(int))))
    machine = CountLikelihoodClassifier(kernel="linear", C_target=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mirror images, which is what noise has
        scores = bag_cross_val_predict(machine, X, bags)
    found = estimate_accuracy(machine, X, bags, scores=scores)
    truth = float(np.mean((scores > 0) == (y > 0)))
    return cell_of(name, bag_size, draw, truth, np.nan, found)


# The table -----------------------------------------------------------------------------------


def print_table(cells: list[Cell], bag_size: int) -> bool:
    """Print the figures of one bag size by task; False if a bar was missed."""
    chosen = [cell for cell in cells if cell.bag_size == bag_size]
    judged = [cell for cell in chosen if cell.task not in (*TASKS_WITHOUT_BAR, *ADVERSARIES)]
    print(f"\nBags of {bag_size}: accuracy out of bag in per cent, errors in points")
    print(
        f"  {'task':21}{'draws':>6}{'truth':>7}{'count':>7}{'error':>7}{'cover':>7}{'width':>7}"
        f"{'Goodman':>9}{'error':>7}{'cover':>7}{'fresh':>7}{'error':>7}{'cover':>7}"
        f"{'cannot':>8}{'differ':>8}{'split':>7}"
    )
    names = [*tasks_of(bag_size), *ADVERSARIES]
    for name in names:
        _print_row(name, [cell for cell in chosen if cell.task == name])
    _print_row("all honest tasks", judged)
    return _print_bars(judged, bag_size)


def _print_row(name: str, cells: list[Cell]) -> None:
    if not cells:
        return
    n = len(cells)

    def mean(values: Iterable[float]) -> float:
        return 100 * float(np.mean(list(values)))

    own = mean(abs(c.estimate - c.truth) for c in cells)
    print(
        f"  {name:21}{n:6d}{mean(c.truth for c in cells):7.1f}"
        f"{mean(c.estimate for c in cells):7.1f}{own:7.2f}"
        f"{mean(c.low <= c.truth <= c.high for c in cells):7.0f}"
        f"{mean(c.high - c.low for c in cells):7.1f}"
        f"{mean(c.goodman for c in cells):9.1f}"
        f"{mean(abs(c.goodman - c.truth) for c in cells):7.2f}"
        f"{mean(c.goodman_low <= c.truth <= c.goodman_high for c in cells):7.0f}"
        f"{mean(c.fresh for c in cells):7.1f}"
        f"{mean(abs(c.estimate - c.fresh) for c in cells):7.2f}"
        f"{mean(c.low <= c.fresh <= c.high for c in cells):7.0f}"
        f"{sum(not c.can_tell for c in cells):8d}{sum(not c.agree for c in cells):8d}"
        f"{sum(c.bags_differ for c in cells):7d}"
    )


def _print_bars(cells: list[Cell], bag_size: int) -> bool:
    if not cells:
        return True
    error = 100 * float(np.mean([abs(c.estimate - c.truth) for c in cells]))
    covered = float(np.mean([c.low <= c.truth <= c.high for c in cells]))
    bar = BARS[bag_size]
    print(
        f"  mean absolute error {error:.2f} points (bar {bar:g}: {_verdict(error <= bar)}), "
        f"intervals hold the truth in {100 * covered:.0f} % of {len(cells)} draws "
        f"(bar {100 * COVERAGE:.0f} %: {_verdict(covered >= COVERAGE)})"
    )
    return error <= bar and covered >= COVERAGE


def _verdict(is_met: bool) -> str:
    return "reached" if is_met else "MISSED"


def write(cells: list[Cell], path: Path) -> None:
    """Write the figures of all draws."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Cell))
        writer.writerows(astuple(cell) for cell in cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scores", type=Path, help="folder where out-of-bag scores are kept")
    parser.add_argument("--draws", type=int, default=10, help="seeds 0, 1, ... (default 10)")
    parser.add_argument("--noise-draws", type=int, default=20, help="draws of each adversary")
    parser.add_argument("--jobs", type=int, default=1, help="draws run at a time, by processes")
    parser.add_argument("--machine", choices=["count", "tgplm"], default="count")
    parser.add_argument(
        "--report", action="store_true", help="fit nothing, print what the folder holds"
    )
    arguments = parser.parse_args()
    if arguments.scores is not None:
        return run(arguments, arguments.scores)
    with TemporaryDirectory() as folder:
        return run(arguments, Path(folder))


def run(arguments: argparse.Namespace, folder: Path) -> int:
    """Run or read the draws and print everything; 1 if a bar was missed."""
    plan = [
        (task, bag_size, draw)
        for draw in range(arguments.draws)
        for bag_size in BARS
        for task in tasks_of(bag_size)
        if task not in TASKS_WITHOUT_BAR
    ]
    if arguments.report:
        held_out = stored_scores(arguments.machine, plan, folder)
    else:
        held_out = held_out_scores(arguments.machine, plan, folder, arguments.jobs)
    cells = [judge(each) for each in held_out]
    cells += [
        adversarial(name, bag_size, draw)
        for name in ADVERSARIES
        for bag_size in BARS
        for draw in range(arguments.noise_draws)
    ]
    write(cells, folder / "cells.csv")
    print(f"{len(held_out)} of {len(plan)} draws of tasks")
    met = [print_table(cells, bag_size) for bag_size in BARS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
