# SPDX-License-Identifier: BSD-3-Clause
"""The accuracy protocol of the league, with the tasks on which the benchmarks have bars.

Tasks, draws, floor and ceiling are those of :mod:`bagshift.experiments`. The data are third-party
files outside the repository: in ``../shared/data`` beside it, or where the environment variable
BAGSHIFT_DATA points. Only the rotated digits come with scikit-learn.
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bagshift.experiments.draws import Draw
from bagshift.experiments.draws import make_draw as draw_of
from bagshift.experiments.tasks import TASKS as LEAGUE
from bagshift.experiments.tasks import load_task

__all__ = ["TASKS", "Draw", "bootstrap_interval", "data_folder", "make_draw", "tasks_of"]

REPOSITORY = Path(__file__).resolve().parents[1]
TASKS = [
    *("orgs/people", "orgs/places", "comp/sci", "rec/sci", "comp/rec"),
    *("dos/r2l", "r2l/probe", "pie 30", "pie 50", "digits 50"),
]
# With 44 fresh rows they are reported and judged by no bar.
TASKS_WITHOUT_BAR = ("pie 30", "pie 50")
_ONLY_SMALL_BAGS = {"digits 50": 8, "pie 30": 8, "pie 50": 8, "orgs/people": 32, "orgs/places": 32}


def tasks_of(bag_size: int) -> list[str]:
    """Return the tasks that have enough rows for bags of a size."""
    return [name for name in TASKS if bag_size <= _ONLY_SMALL_BAGS.get(name, bag_size)]


def data_folder() -> Path | None:
    """Return the folder of the data sets, or None when it is absent."""
    folder = Path(os.environ.get("BAGSHIFT_DATA", REPOSITORY.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


def make_draw(task: str, folder: Path | None, bag_size: int, seed: int) -> Draw:
    """Return a draw of a task, in random bags."""
    return draw_of(load_task(LEAGUE[task], folder, seed), LEAGUE[task].kind, bag_size, seed)


def shares_of(draw: Draw) -> NDArray[np.float64]:
    """Return the shares of bags 0, 1, ..."""
    return np.array([draw.shares[bag] for bag in range(len(draw.shares))])


def bootstrap_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean, resampling draws."""
    picks = np.random.default_rng(0).integers(len(values), size=(10_000, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
