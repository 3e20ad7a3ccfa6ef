# SPDX-License-Identifier: BSD-3-Clause
"""What `max_rows` costs: a search on a sample of the rows against one on all of them.

    python benchmarks/max_rows.py --output max_rows.csv [--draws 10] [--kernel linear]
    python benchmarks/max_rows.py --output max_rows_rbf.csv --kernel rbf --tasks digits --draws 3

Each run adds its searches to the file, leaving out what is there, and prints the table of all of
it; `--report` prints alone.

Tasks: *gaussians*, those of `linear_fit.py`; *digits*, those of `feature_maps.py`; *adult* and
*credit*, those of the league, standardised, where the data folder is. A draw has 12,000 source
rows and as many target rows in bags of ten, whose shares are of a Beta law of concentration 2
about the rate of the rows (digits: spread evenly; gaussians: a common part of the rows of a bag),
and up to 4,000 fresh target rows.

Methods: TGPLMCV with the quick grid and five folds of whole bags, on all rows, and with
`max_rows`; *unscaled* is the machine with the costs that were best on the sample, as numbers,
trained on all rows. Columns: accuracy on fresh rows, and points lost against the search on all
rows of the same draw, means over draws with half the width of their 95 % t-interval; in how many
draws the choice was the same; CPU seconds of one thread for search and fit.
"""

import argparse
import csv
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import feature_maps
import linear_fit
import numpy as np
from _protocol import LEAGUE, data_folder, load_task
from numpy.typing import NDArray
from scipy import stats
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bagshift import TGPLMCV, Bags
from bagshift.datasets.bag_making import make_skewed_bags

N_ROWS, N_FRESH, BAG_SIZE = 12_000, 4_000, 10
CONCENTRATION = 2.0
SAMPLES = (1_000, 3_000)


@dataclass(frozen=True)
class Draw:
    """Rows of both domains with labels 0 and 1, bags, and fresh target rows."""

    source: tuple[Any, NDArray[np.int64]]
    X: Any
    bags: Bags
    X_fresh: Any
    y_fresh: NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """What one search came to."""

    kernel: str
    task: str
    draw: int
    method: str
    fresh: float
    seconds: float
    choice: str


# Draws ------------------------------------------------------------------------------------


def gaussians(seed: int) -> Draw:
    X_source, y_source, X, y = linear_fit.make_rows(N_ROWS, linear_fit.N_FEATURES, seed)
    _, _, X_fresh, y_fresh = linear_fit.make_rows(N_FRESH, linear_fit.N_FEATURES, 1_000 + seed)
    shares = y.reshape(-1, BAG_SIZE).mean(axis=1)
    return in_consecutive_bags(X_source, y_source, X, shares, X_fresh, y_fresh)


def digits(seed: int) -> Draw:
    drawn = feature_maps.make_draw(N_ROWS, seed)
    return in_consecutive_bags(
        drawn.X_source,
        drawn.y_source,
        drawn.X_target,
        drawn.shares,
        drawn.X_fresh[:N_FRESH],
        drawn.y_fresh[:N_FRESH],
    )


def in_consecutive_bags(
    X_source: Any, y_source: Any, X: Any, shares: Any, X_fresh: Any, y_fresh: Any
) -> Draw:
    bags = Bags.from_arrays(np.repeat(np.arange(len(shares)), BAG_SIZE), dict(enumerate(shares)))
    return Draw((X_source, y_source.astype(int)), X, bags, X_fresh, y_fresh.astype(int))


def of_league(task: str) -> Callable[[int], Draw]:
    def draw(seed: int) -> Draw:
        domains = load_task(LEAGUE[task], data_folder(), seed)
        rng = np.random.default_rng(seed)
        source = rng.permutation(len(domains.y_source))[:N_ROWS]
        target = rng.permutation(len(domains.y_target))
        bagged, fresh = target[:N_ROWS], target[N_ROWS : N_ROWS + N_FRESH]
        scaler = StandardScaler().fit(
            np.vstack([domains.X_source[source], domains.X_target[bagged]])
        )
        X_source, X, X_fresh = (
            scaler.transform(part)
            for part in (
                domains.X_source[source],
                domains.X_target[bagged],
                domains.X_target[fresh],
            )
        )
        y_source, y, y_fresh = (
            (labels > 0).astype(int)
            for labels in (
                domains.y_source[source],
                domains.y_target[bagged],
                domains.y_target[fresh],
            )
        )
        ids, shares = make_skewed_bags(y, BAG_SIZE, CONCENTRATION, random_state=seed)
        return Draw((X_source, y_source), X, Bags.from_arrays(ids, shares), X_fresh, y_fresh)

    return draw


TASKS = {
    "gaussians": gaussians,
    "digits": digits,
    "adult": of_league("adult"),
    "credit": of_league("credit"),
}


# Searches ---------------------------------------------------------------------------------


def searches_of(draw: Draw, kernel: str, cv: int) -> list[tuple[str, float, float, str]]:
    """Return method, accuracy, seconds and choice of every search on a draw."""
    rows = []
    for max_rows in (None, *SAMPLES):
        begun = time.process_time()
        search = TGPLMCV(kernel=kernel, cv=cv, max_rows=max_rows)
        search.fit(draw.X, draw.bags, source=draw.source)
        seconds = time.process_time() - begun
        name = "all rows" if max_rows is None else f"{max_rows}"
        choice = str(search.best_index_)
        rows.append((name, search.score(draw.X_fresh, draw.y_fresh), seconds, choice))
        if max_rows is not None:
            sampled = search.search_report_
            machine = search.best_estimator_
            machine.set_params(
                C_source=machine.C_source * len(draw.source[1]) / sampled["n_source_rows"],
                C_target=machine.C_target * draw.bags.n_bags / sampled["n_bags"],
            ).fit(draw.X, draw.bags, source=draw.source)
            accuracy = machine.score(draw.X_fresh, draw.y_fresh)
            rows.append((f"{max_rows} unscaled", accuracy, seconds, choice))
    return rows


def run(options: argparse.Namespace) -> None:
    known = {(row.kernel, row.task, row.draw) for row in held_in(options.output)}
    for number in range(options.draws):
        for task in options.tasks:
            if task in ("adult", "credit") and data_folder() is None:
                continue
            if (options.kernel, task, number) in known:
                continue
            found = searches_of(TASKS[task](number), options.kernel, options.folds)
            new = not options.output.exists()
            with options.output.open("a", newline="") as file:
                writer = csv.DictWriter(file, [field.name for field in fields(Found)])
                if new:
                    writer.writeheader()
                for method, fresh, seconds, choice in found:
                    row = Found(options.kernel, task, number, method, fresh, seconds, choice)
                    writer.writerow(asdict(row))


def held_in(path: Path) -> list[Found]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Found(
                row["kernel"],
                row["task"],
                int(row["draw"]),
                row["method"],
                float(row["fresh"]),
                float(row["seconds"]),
                row["choice"],
            )
            for row in csv.DictReader(file)
        ]


def report(rows: list[Found]) -> None:
    print(f"{'kernel':8}{'task':11}{'method':15}{'draws':>6}{'fresh':>8}", end="")
    print(f"{'points lost':>17}{'same':>6}{'CPU s':>8}")
    for kernel in dict.fromkeys(row.kernel for row in rows):
        lost_by_method: dict[str, list[float]] = {}
        for task in dict.fromkeys(row.task for row in rows if row.kernel == kernel):
            of_task = [row for row in rows if (row.kernel, row.task) == (kernel, task)]
            full = {row.draw: row for row in of_task if row.method == "all rows"}
            for method in dict.fromkeys(row.method for row in of_task):
                mine = [row for row in of_task if row.method == method]
                lost = [100 * (full[row.draw].fresh - row.fresh) for row in mine]
                same = sum(row.choice == full[row.draw].choice for row in mine)
                seconds = np.mean([row.seconds for row in mine])
                fresh = np.mean([row.fresh for row in mine])
                print(
                    f"{kernel:8}{task:11}{method:15}{len(mine):6d}{fresh:8.4f}"
                    f"{with_interval(lost):>17}{same:6d}{seconds:8.1f}"
                )
                lost_by_method.setdefault(method, []).extend(lost)
        for method, lost in lost_by_method.items():
            print(f"{kernel:8}{'all':11}{method:15}{len(lost):6d}{'':8}{with_interval(lost):>17}")


def with_interval(values: list[float]) -> str:
    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:+.2f}"
    half = stats.sem(values) * stats.t.ppf(0.975, len(values) - 1)
    return f"{mean:+.2f} +- {half:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--kernel", choices=["linear", "rbf"], default="linear")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        with threadpool_limits(1):
            run(options)
    report(held_in(options.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
