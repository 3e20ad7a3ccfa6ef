# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts of transfer_report against what the history does to accuracy on 20,000 fresh rows.

Two domains whose class directions lie an angle apart (``turned_directions``: 200 source rows, 96
target rows in bags of 8 or 32, 10 or 50 features); at 180 degrees the source is flipped. The
machine is CountLikelihoodClassifier, linear, C in prior variances of a score 8 (source) and 64
(target). Truth is its accuracy on the fresh rows at coupling 8 less that at coupling 0, with the
same rows and bags: above 2 points the history helps, below -2 it hurts, else it makes no
difference. Of 12 bags, or 3, most differences do not show, and "no difference" is then right to
say; what must not happen is the opposite verdict.

Bars: of true helps and hurts at most one in ten is called the opposite; at most 1 "helps" among
the 50 flipped draws of a setting.

    python benchmarks/transfer_verdicts.py [--draws 50] [--jobs 2] [--output FILE] [--report]
"""

import argparse
import csv
import sys
import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift import Bags, CountLikelihoodClassifier
from bagshift.datasets import turned_directions
from bagshift.inspection import transfer_report

FEATURES = (10, 50)
ANGLES = (0, 20, 45, 70, 120, 180)
FLIPPED = 180
BAG_SIZES = (8, 32)
N_TARGET, N_FRESH = 96, 20_000
COUPLING = 8.0
POINTS = 2.0
MOST_OPPOSITE = 0.1
MOST_FLIPPED_HELPS = 1 / 50
VERDICTS = ("helps", "no difference", "hurts")
Key = tuple[int, int, int, int]


@dataclass(frozen=True)
class Cell:
    """One draw; `gain` in points of accuracy on fresh rows."""

    n_features: int
    angle: int
    bag_size: int
    draw: int
    without: float
    with_history: float
    verdict: str
    vote: float
    low: float
    high: float

    @property
    def key(self) -> Key:
        """Which draw it is."""
        return self.n_features, self.angle, self.bag_size, self.draw

    @property
    def gain(self) -> float:
        """Points of accuracy that the history gains."""
        return 100 * (self.with_history - self.without)

    @property
    def truth(self) -> str:
        """The right verdict."""
        if abs(self.gain) <= POINTS:
            return "no difference"
        return "helps" if self.gain > 0 else "hurts"

    @property
    def is_opposite(self) -> bool:
        """Whether the verdict is the opposite of the right one."""
        return {self.truth, self.verdict} == {"helps", "hurts"}


def compute(n_features: int, angle: int, bag_size: int, draw: int) -> Cell:
    """Fit, judge and test one draw."""
    domains = turned_directions(n_features, angle, draw, n_target=N_TARGET, n_fresh=N_FRESH)
    order = np.random.default_rng(draw).permutation(N_TARGET)
    X, y = domains.X_target[order], domains.y_target[order]
    ids = np.arange(N_TARGET) // bag_size
    counts = np.bincount(ids, weights=y > 0).astype(int)
    bags = Bags.from_arrays(ids, counts=dict(enumerate(counts)), positive=1, negative=-1)
    source = domains.X_source, domains.y_source
    length = float(np.mean(np.sum(np.concatenate([source[0], X]) ** 2, axis=1)))
    machine = CountLikelihoodClassifier(
        8.0 / length, 64.0 / length, COUPLING, kernel="linear", tol=1e-4
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that bags are few
        found = transfer_report(machine, X, bags, source, couplings=(0.0, COUPLING))
        accuracies = [
            machine.set_params(coupling=coupling)
            .fit(X, bags, source=source)
            .score(domains.X_fresh, domains.y_fresh)
            for coupling in (0.0, COUPLING)
        ]
    return Cell(
        n_features,
        angle,
        bag_size,
        draw,
        accuracies[0],
        accuracies[1],
        found.verdict,
        found.vote.estimate,
        found.vote.low,
        found.vote.high,
    )


# The file ------------------------------------------------------------------------------------


def read(path: Path | None) -> list[Cell]:
    """Return the cells of a file; a line cut short is none."""
    if path is None or not path.exists():
        return []
    cells = []
    with path.open(newline="", encoding="utf-8") as file:
        for record in csv.DictReader(file):
            try:
                whole = [int(record[f.name]) for f in fields(Cell)[:4]]
                numbers = [float(record[f.name]) for f in fields(Cell) if f.type is float]
            except (KeyError, TypeError, ValueError):
                continue
            cells.append(Cell(*whole, *numbers[:2], record["verdict"], *numbers[2:]))
    return cells


def append(cells: Sequence[Cell], path: Path | None) -> None:
    """Append cells to a file."""
    if path is None:
        return
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(field.name for field in fields(Cell))
        writer.writerows(astuple(cell) for cell in cells)


def run(draws: range, angles: Sequence[int], n_jobs: int, path: Path | None) -> list[Cell]:
    """Return all cells, computing those that the file lacks, draw by draw."""
    cells = [cell for cell in read(path) if cell.draw in draws]
    known = {cell.key for cell in cells}
    for draw in draws:
        missing = [key for key in product(FEATURES, angles, BAG_SIZES, [draw]) if key not in known]
        if not missing:
            continue
        found = Parallel(n_jobs=n_jobs)(delayed(compute)(*key) for key in missing)
        append(found, path)
        cells += found
        print(f"draw {draw} done", file=sys.stderr, flush=True)
    return cells


# The table -----------------------------------------------------------------------------------


def print_table(cells: list[Cell]) -> bool:
    """Print verdicts by setting and the confusion tables; False if a bar was missed."""
    met = True
    for bag_size in BAG_SIZES:
        chosen = [cell for cell in cells if cell.bag_size == bag_size]
        print(f"\nBags of {bag_size}, {N_TARGET // bag_size} of them")
        print(
            f"  {'features':>8}{'angle':>7}{'draws':>7}{'without':>9}{'with':>7}{'gain':>7}   "
            f"{'truth: helps, none, hurts':>26}   {'said: helps, none, hurts':>26}"
        )
        for n_features, angle in product(FEATURES, ANGLES):
            own = [c for c in chosen if (c.n_features, c.angle) == (n_features, angle)]
            met &= _print_setting(n_features, angle, own)
        _print_confusion(chosen)
        met &= _print_bar(chosen)
    return met


def _print_setting(n_features: int, angle: int, cells: list[Cell]) -> bool:
    if not cells:
        return True
    truths = [sum(c.truth == word for c in cells) for word in VERDICTS]
    said = [sum(c.verdict == word for c in cells) for word in VERDICTS]
    means = [100 * np.mean([getattr(c, n) for c in cells]) for n in ("without", "with_history")]
    is_met = angle != FLIPPED or said[0] <= max(1, MOST_FLIPPED_HELPS * len(cells))
    mark = "" if angle != FLIPPED else f"   'helps' in {said[0]} of {len(cells)} flipped"
    print(
        f"  {n_features:8d}{angle:7d}{len(cells):7d}{means[0]:9.1f}{means[1]:7.1f}"
        f"{means[1] - means[0]:+7.1f}   {truths[0]:10d}{truths[1]:8d}{truths[2]:8d}   "
        f"{said[0]:10d}{said[1]:8d}{said[2]:8d}{mark}"
        f"{'' if is_met else ' MISSED'}"
    )
    return is_met


def _print_confusion(cells: list[Cell]) -> None:
    print(f"  {'truth / said':>15}" + "".join(f"{word:>15}" for word in VERDICTS))
    for truth in VERDICTS:
        row = [sum((c.truth, c.verdict) == (truth, said) for c in cells) for said in VERDICTS]
        print(f"  {truth:>15}" + "".join(f"{number:15d}" for number in row))


def _print_bar(cells: list[Cell]) -> bool:
    met = True
    for truth in ("helps", "hurts"):
        true = [cell for cell in cells if cell.truth == truth]
        if not true:
            continue
        opposite = sum(cell.is_opposite for cell in true) / len(true)
        is_met = opposite <= MOST_OPPOSITE
        met &= is_met
        print(
            f"  true {truth}: {100 * (1 - opposite):.1f} % of {len(true)} not called the opposite "
            f"(bar {100 * (1 - MOST_OPPOSITE):.0f} %: {'reached' if is_met else 'MISSED'})"
        )
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=50, help="how many seeds (default 50)")
    parser.add_argument("--first", type=int, default=0, help="first seed (default 0)")
    parser.add_argument(
        "--angles", type=int, nargs="+", default=ANGLES, choices=ANGLES, help="default: all"
    )
    parser.add_argument("--jobs", type=int, default=1, help="cells run at a time, by processes")
    parser.add_argument(
        "--output", type=Path, help="CSV file of all cells; those it holds are not run again"
    )
    parser.add_argument(
        "--report", action="store_true", help="run nothing, print what --output holds"
    )
    arguments = parser.parse_args()
    if arguments.report:
        cells = read(arguments.output)
    else:
        draws = range(arguments.first, arguments.first + arguments.draws)
        cells = run(draws, arguments.angles, arguments.jobs, arguments.output)
    return 0 if print_table(cells) else 1


if __name__ == "__main__":
    sys.exit(main())
