# SPDX-License-Identifier: BSD-3-Clause
"""What the library computes in a chunk of rows, and how long one core of this machine takes.

The kernels are those of the passes, on 8,192 rows of single precision; seconds are for a row,
medians of CPU time, one thread.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bagshift.solvers import LinearUnits
from bagshift.solvers._chunks import CHUNK_ROWS
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._smoothed_newton import SmoothedPoint, _newton_step
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.unit_passes import _part, _settled, _square_sum

Floats = NDArray[np.float64]

SMOOTHING = 0.1
REPEATS = 7
CACHE_BYTES = 2**27


@dataclass(frozen=True)
class Rates:
    """Seconds of one core at a number of features.

    Parameters
    ----------
    n_features : int
    slope : float
        Loss and slope of a unit, none of them free.
    square : float
        What a free unit adds to that: its part of the curvature.
    line, near, settled, length : float
        Other passes over units, by unit.
    labelled, counted : float
        A row of the count likelihood, of the source and of a bag of a hundred.
    add : float
        Two results with their curvatures.
    step : float
        Newton's step in both machines.
    """

    n_features: int
    slope: float
    square: float
    line: float
    near: float
    settled: float
    length: float
    labelled: float
    counted: float
    add: float
    step: float

    @property
    def n_unknowns(self) -> int:
        """Weights and intercepts of both machines."""
        return 2 * (self.n_features + 1)

    @property
    def message(self) -> float:
        """Bytes of slope and curvature of one machine."""
        return 8.0 * (self.n_features + 1) * (self.n_features + 2) + 24.0

    def at(self, n_features: int) -> "Rates":
        """Return what another number of features would take, by the order of the work.

        Not measured: products with a row grow with the features, squares and sums of results
        with their square, steps with their cube.
        """
        wider = n_features / self.n_features
        powers = {"square": 2, "labelled": 2, "counted": 2, "add": 2, "step": 3}
        scaled = {
            name: value * wider ** powers.get(name, 1)
            for name, value in asdict(self).items()
            if name != "n_features"
        }
        return Rates(n_features, **scaled)

    def as_rows(self) -> dict[str, float]:
        """Return all rates by name."""
        return asdict(self)


def median_seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median CPU time of some runs, after one that warms up."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def units_of(n_features: int, free: float, n_rows: int = CHUNK_ROWS) -> LinearUnits:
    """Return labelled units, of which a part is in the rounded part of its loss at `machine_of`.

    Their costs are those of one of very many rows.
    """
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    signs = np.where(rng.random(n_rows) < 0.5, 1.0, -1.0)
    scores = machine_of(n_features).scores(features.astype(np.float64))
    is_free = rng.random(n_rows) < free
    residuals = np.where(is_free, 0.2 * SMOOTHING, np.where(signs > 0, 3.0, -3.0))
    return LinearUnits(
        features,
        scores + residuals,
        np.zeros(n_rows),
        np.minimum(signs, 0.0) - is_free * (signs > 0),
        np.maximum(signs, 0.0) + is_free * (signs < 0),
    )


def copies_of(units: LinearUnits) -> list[LinearUnits]:
    """Return copies that do not fit into the caches together, as the chunks of many rows."""
    n_copies = max(2, CACHE_BYTES // units.features.nbytes)
    return [replace(units, features=units.features.copy()) for _ in range(n_copies)]


def machine_of(n_features: int) -> LinearMachine:
    return LinearMachine(np.full(n_features, 0.5 / np.sqrt(n_features)), 0.1)


def measure_rates(n_features: int) -> Rates:
    """Run every kernel of a pass and time it."""
    machine = machine_of(n_features)
    unfree, free = (units_of(n_features, part) for part in (0.0, 1.0))
    assert unfree.sums(machine, SMOOTHING).n_free == 0
    assert free.sums(machine, SMOOTHING).n_free == CHUNK_ROWS
    one, other = (cycle(copies_of(units)) for units in (unfree, free))
    slope = median_seconds(lambda: next(one).sums(machine, SMOOTHING)) / CHUNK_ROWS
    whole = median_seconds(lambda: next(other).sums(machine, SMOOTHING)) / CHUNK_ROWS
    lengths = 2.0 ** np.arange(-10.0, 3.0)

    def line() -> Floats:
        units = next(one)
        residuals, change = units.along(machine, machine)
        return units.slopes(residuals, change, smoothing=SMOOTHING, lengths=lengths)

    size = 100
    signs = np.where(unfree.targets > 0, 1.0, -1.0)
    labelled = LabelledRows(unfree.features, signs, np.ones(CHUNK_ROWS))
    n_bags = CHUNK_ROWS // size
    rows = unfree.features[: n_bags * size]
    counted = CountedRows(
        rows, BagCounts.exact(np.full(n_bags, size // 3), np.full(n_bags, size)), np.ones(n_bags)
    )
    result = free.sums(machine, SMOOTHING)
    n_unknowns = 2 * (n_features + 1)
    rng = np.random.default_rng(0)
    root = rng.standard_normal((n_unknowns, n_unknowns))
    point = SmoothedPoint(
        v=np.zeros(n_unknowns),
        gradient=rng.standard_normal(n_unknowns),
        curvature=root @ root.T + n_unknowns * np.eye(n_unknowns),
        value=1.0,
        gap=0.0,
        slack=1.0,
        n_free=1,
    )
    return Rates(
        n_features=n_features,
        slope=slope,
        square=max(whole - slope, 0.0),
        line=median_seconds(line) / CHUNK_ROWS,
        near=median_seconds(lambda: _part(next(one), machine, 0.1)) / CHUNK_ROWS,
        settled=median_seconds(lambda: _settled(next(one), machine, 0.1, machine)) / CHUNK_ROWS,
        length=median_seconds(lambda: _square_sum(next(one))) / CHUNK_ROWS,
        labelled=median_seconds(lambda: labelled.sums(machine)) / CHUNK_ROWS,
        counted=median_seconds(lambda: counted.sums(machine)) / len(rows),
        add=median_seconds(lambda: result + result),
        step=median_seconds(lambda: _newton_step(point, 2), 3),
    )


@dataclass(frozen=True)
class ReadingRates:
    """Seconds of one core for a value of a Parquet file.

    Parameters
    ----------
    means : float
        Counting the rows of bags and their means.
    decode : float
        Rows in single precision, written as they come.
    by_bag : float
        The same, bag by bag.
    bytes_a_value : float
        On disk, in the Parquet file.
    """

    means: float
    decode: float
    by_bag: float
    bytes_a_value: float


def measure_reading(n_rows: int, n_columns: int, n_bags: int) -> ReadingRates:
    """Write a Parquet file of random numbers and run the library's three ways to read it."""
    from bag_means import Task, decode, means, set_up

    from bagshift.scale import connect

    with tempfile.TemporaryDirectory() as folder:
        task = Task(Path(folder), "3GB", 1, n_columns)
        set_up(task, n_rows, n_bags)
        seconds = []
        for run in (means, decode, lambda *given: decode(*given, by_bag=True)):
            with connect(task.memory, task.folder, task.n_threads) as connection:
                start = time.process_time()
                run(task, connection)
                seconds.append((time.process_time() - start) / (n_rows * n_columns))
            shutil.rmtree(task.folder / "result")
        size = task.file.stat().st_size / (n_rows * n_columns)
    return ReadingRates(*seconds, size)
