# SPDX-License-Identifier: BSD-3-Clause
"""What a fit on a cluster consists of: its steps, their work, their bytes, and who holds what."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from _cluster_kernels import Rates, ReadingRates
from _cluster_simulation import Cluster, Outcome, PassKind, simulate_exchange, simulate_pass

from bagshift.scale.means import BYTES_PER_GROUP, BYTES_PER_MEAN
from bagshift.solvers import _passes_newton, coupled_linear
from bagshift.solvers._chunks import CHUNK_ROWS

SINGLE, DOUBLE = 4, 8
# Target, half width and box of a unit.
UNIT_BYTES = 4 * DOUBLE
N_SEEDS = 3


@dataclass(frozen=True)
class Job:
    """Rows, features, and what a fit of them takes.

    Parameters
    ----------
    n_target, n_source, n_bags, n_features : int
    n_curved, n_lines : int
        Passes with curvature, and searches along a step, over all rows.
    n_count_passes : int
        Passes of the count likelihood.
    free : float
        Part of the units in the rounded part of their loss.
    sample_seconds, near_seconds : float
        Of one core of the driver at 1,000 features: the solution on the sample, and that on the
        units near a border. 150 were measured for 109,000 of both (part `passes`); these are
        shares of them in proportion to the units, 50,000 and 200,000.
    slowdown, driver_factor : float
        How many times as long as measured workers and driver take.
    part_chunks : int
        Chunks of 8,192 rows in a partition: so many that it has no more than 64 MiB.
    read_chunks : int
        The same in a task that reads files.
    n_parts : int, optional
        Partitions of the source, in place of that.
    from_disk : bool
        Whether the source is read from disk in every pass.
    """

    n_target: float = 1e9
    n_source: float = 1e8
    n_bags: float = 1e6
    n_features: int = 1000
    n_curved: int = 4
    n_lines: int = 1
    n_count_passes: int = 13
    free: float = 0.05
    sample_seconds: float = 70.0
    near_seconds: float = 275.0
    slowdown: float = 1.5
    driver_factor: float = 1.0
    part_chunks: int = 2
    read_chunks: int = 16
    n_parts: int | None = None
    from_disk: bool = False

    def times(self, *, rows: int = 1, features: int = 1, bags: int = 1) -> "Job":
        """Return the job with more of something; the driver's work grows with the square."""
        return replace(
            self,
            n_target=rows * self.n_target,
            n_source=rows * self.n_source,
            n_bags=bags * self.n_bags,
            n_features=features * self.n_features,
            driver_factor=features**2 * self.driver_factor,
        )

    @property
    def part_rows(self) -> int:
        """Rows of a partition."""
        return math.ceil(self.n_source / self.parts_of(self.n_source))

    def parts_of(self, n_rows: float) -> int:
        """Return in how many partitions rows of the source, or so many others, lie."""
        if self.n_parts is None:
            return max(1, math.ceil(n_rows / (self.part_chunks * CHUNK_ROWS)))
        return max(1, math.ceil(self.n_parts * n_rows / self.n_source))

    def reads_of(self, n_rows: float) -> int:
        """Return how many tasks read so many rows."""
        return math.ceil(n_rows / (self.read_chunks * CHUNK_ROWS))

    @property
    def n_near(self) -> float:
        """Units near a border that the driver is sent, at most."""
        return min(coupled_linear._MOST_NEAR, self.n_source + self.n_bags)

    @property
    def n_sample(self) -> float:
        """Units that the driver is sent first."""
        return min(coupled_linear._MANY_UNITS, self.n_source + self.n_bags)

    @property
    def unit_bytes(self) -> float:
        """Bytes of a unit that is sent."""
        return SINGLE * self.n_features + UNIT_BYTES

    @property
    def count_sample_gigabytes(self) -> float:
        """What the count likelihood draws to begin with."""
        n_rows = self.n_source + self.n_target
        part = max(
            min(_passes_newton._PART, _passes_newton._MOST_ROWS / n_rows),
            _passes_newton._LEAST_ROWS / n_rows,
        )
        n_least = _passes_newton._LEAST_UNITS * (self.n_features + 1)
        part = max(part, n_least / self.n_source, n_least / self.n_bags)
        if part > _passes_newton._LARGEST_PART:
            part = min(1.0, _passes_newton._FEW_ROWS / n_rows)
        return 1e-9 * part * n_rows * SINGLE * self.n_features


@dataclass(frozen=True)
class Stage:
    """A step that is done some times over.

    Attributes
    ----------
    name : str
    count : int
    outcome : Outcome
        Of one time.
    read_bytes : float
        From disk, of one time.
    work : float
        Seconds of all cores of one time.
    is_reading : bool
        Whether it comes before the fit.
    """

    name: str
    count: int
    outcome: Outcome
    read_bytes: float
    work: float
    is_reading: bool = False

    @property
    def seconds(self) -> float:
        """Elapsed seconds of one time."""
        return self.outcome.seconds

    @property
    def total(self) -> float:
        """Elapsed seconds of all times."""
        return self.count * self.seconds


def total_seconds(found: Sequence[Stage]) -> float:
    return sum(stage.total for stage in found)


def stages(
    cluster: Cluster, job: Job, rates: Rates, reading: ReadingRates, storage: str | None, *,
    n_seeds: int = N_SEEDS, lost_at: float | None = None, only: str | None = None,
) -> list[Stage]:  # fmt: skip
    """Return the steps of TGPLM; without those of reading where no way of storage is given."""
    found = []
    if storage is not None:
        found.append(means_stage(cluster, job, reading, storage))
        found.append(decoding_stage(cluster, job, reading))
    per_row = {
        "row length": rates.length,
        "sample": 0.1 * rates.near,
        "slope and curvature": rates.slope + job.free * rates.square,
        "search along a step": rates.line,
        "near a border": rates.near,
        "the others": rates.settled,
    }
    slope = DOUBLE * (job.n_features + 1.0)
    total = job.n_source + job.n_bags
    messages = {
        "row length": DOUBLE,
        "sample": job.n_sample * job.unit_bytes / job.parts_of(total),
        "slope and curvature": rates.message,
        "search along a step": 13 * DOUBLE,
        "near a border": job.n_near * job.unit_bytes / job.parts_of(total),
        "the others": slope,
    }
    driver = {
        "sample": job.sample_seconds * job.driver_factor,
        "slope and curvature": rates.step * job.slowdown if job.driver_factor else 0.0,
        "near a border": job.near_seconds * job.driver_factor,
    }
    counts = {"slope and curvature": job.n_curved, "search along a step": job.n_lines}
    for name, seconds in per_row.items():
        count = counts.get(name, 1)
        if not count or only not in (None, name):
            continue
        kinds = []
        for domain, n_rows in enumerate((job.n_source, job.n_bags)):
            kinds.append(
                _kind(
                    job,
                    n_rows,
                    seconds,
                    message=messages[name],
                    add=rates.add if name == "slope and curvature" else 0.0,
                    grows=name in ("sample", "near a border"),
                    # Both results are there before the driver begins.
                    driver=0.0 if domain else driver.get(name, 0.0),
                )
            )
        found.append(_passes(name, count, cluster, kinds, n_seeds, lost_at))
    return found


def _kind(
    job: Job, n_rows: float, seconds: float, *, message: float, add: float, grows: bool,
    driver: float,
) -> PassKind:  # fmt: skip
    n_parts = job.parts_of(n_rows)
    rows = n_rows / n_parts
    within = max(rows / CHUNK_ROWS - 1.0, 0.0) * add
    return PassKind(
        seconds=np.full(n_parts, job.slowdown * (rows * seconds + within)),
        message=message,
        add_seconds=job.slowdown * add,
        grows=grows,
        driver_seconds=driver,
        partition_bytes=rows * SINGLE * job.n_features,
        from_disk=job.from_disk,
        coefficients=2.0 * DOUBLE * (job.n_features + 1),
    )


def _passes(
    name: str, count: int, cluster: Cluster, kinds: list[PassKind], n_seeds: int,
    lost_at: float | None = None,
) -> Stage:  # fmt: skip
    """Return the run with the median time."""
    runs = [
        simulate_pass(cluster, kinds, seed=10 * seed, lost_at=lost_at) for seed in range(n_seeds)
    ]
    middle = sorted(runs, key=lambda run: run.seconds)[n_seeds // 2]
    read = sum(k.partition_bytes * len(k.seconds) for k in kinds if k.from_disk)
    return Stage(name, count, middle, read, sum(float(k.seconds.sum()) for k in kinds))


# Reading ----------------------------------------------------------------------------------


def means_stage(cluster: Cluster, job: Job, reading: ReadingRates, storage: str) -> Stage:
    """Return the means of bags.

    * by bag: a bag lies in one partition, and so does its mean when it has been read;
    * scattered: every machine has rows of every bag, adds them up in double precision, and sums
      are brought together;
    * rows moved: rows are brought together as they are.
    """
    values = job.n_target * job.n_features
    n_parts = job.reads_of(job.n_target)
    bag_bytes = DOUBLE * (job.n_features + 2)
    n = cluster.n_workers
    rows_bytes = job.n_target * SINGLE * job.n_features
    # A machine cannot have more bags than rows.
    n_sums = min(n * job.n_bags, job.n_target)
    after = 0.0
    if storage == "by bag":
        moved = spilled = 0.0
    elif storage == "scattered":
        moved = n_sums * bag_bytes
        spilled = max(moved - 0.5 * n * MEMORY, 0.0)
        after = moved / DOUBLE * ADD_SECONDS
    else:
        moved = rows_bytes
        spilled = rows_bytes
        after = values * reading.means * job.slowdown
    work = values * reading.means * job.slowdown
    outcome = simulate_exchange(
        cluster,
        np.full(n_parts, work / n_parts),
        read_bytes=values * reading.bytes_a_value / n_parts,
        moved_bytes=moved * (n > 1),
        spilled_bytes=spilled,
        after_seconds=after,
    )
    return Stage(
        "means of bags", 1, outcome, values * reading.bytes_a_value, work + after, is_reading=True
    )


# Of a machine, bytes; and of one core, to add a number that has come.
MEMORY = 64e9
ADD_SECONDS = 1e-9


def decoding_stage(
    cluster: Cluster, job: Job, reading: ReadingRates, *, with_target: bool = False
) -> Stage:
    """Return the decoding of the source, and of the target where rows are needed bag by bag."""
    values = job.n_source * job.n_features
    n_parts = job.reads_of(job.n_source)
    work = values * reading.decode * job.slowdown
    moved = 0.0
    name = "source decoded"
    if with_target:
        own = job.n_target * job.n_features
        values += own
        moved = own * SINGLE
        n_parts = job.reads_of(job.n_source + job.n_target)
        work += own * reading.by_bag * job.slowdown
        name = "rows decoded, bag by bag"
    outcome = simulate_exchange(
        cluster,
        np.full(n_parts, work / n_parts),
        read_bytes=values * reading.bytes_a_value / n_parts,
        moved_bytes=moved * (cluster.n_workers > 1),
        # What has been decoded is written, so that a machine that is lost costs little.
        spilled_bytes=0.5 * values * SINGLE + moved,
    )
    return Stage(name, 1, outcome, values * reading.bytes_a_value, work, is_reading=True)


def count_stages(cluster: Cluster, job: Job, rates: Rates, reading: ReadingRates) -> list[Stage]:
    """Return the steps of the count likelihood, the rows of whose target stay."""
    kinds = [
        _kind(
            job, n_rows, seconds, message=rates.message, add=rates.add, grows=False,
            driver=(3 * rates.step * job.slowdown if domain == 0 else 0.0),
        )
        for domain, (n_rows, seconds) in enumerate(
            ((job.n_source, rates.labelled), (job.n_target, rates.counted))
        )
    ]  # fmt: skip
    passes = _passes("value, slope, curvature", job.n_count_passes, cluster, kinds, 1)
    return [decoding_stage(cluster, job, reading, with_target=True), passes]


# Memory -----------------------------------------------------------------------------------


def worker_gigabytes(cluster: Cluster, job: Job, storage: str = "by bag") -> float:
    """Return the most that a machine holds: rows and what passes need, or groups of bags."""
    d, n = job.n_features, cluster.n_workers
    rows = (job.n_source + job.n_bags) / n * (SINGLE * d + UNIT_BYTES)
    message = DOUBLE * (d + 1.0) ** 2
    # A chunk in double precision, its free rows times their roots, a curvature and its sum.
    task = CHUNK_ROWS * DOUBLE * d * (1.0 + job.free) + 2.0 * message
    groups = job.n_bags / n * (BYTES_PER_GROUP + BYTES_PER_MEAN * d)
    if storage == "scattered":
        n_sums = min(job.n_bags, job.n_target / n)
        groups = n_sums * (BYTES_PER_GROUP + BYTES_PER_MEAN * d)
    return 1e-9 * max(rows + cluster.cores * task, groups)


def driver_gigabytes(job: Job) -> float:
    """Return the most that the driver holds: units near a border, and matrices of a step."""
    size = 2.0 * (job.n_features + 1)
    # They come, are put together, and one half of them is cut off in chunks.
    units = 2.0 * job.n_near * job.unit_bytes
    return 1e-9 * (units + 5.0 * DOUBLE * size**2)


def print_stages(found: Sequence[Stage], only: int | None = None) -> None:
    print(
        f"  {'step':26}{'times':>6}{'read TB':>9}{'sent GB':>10}{'tasks':>8}{'messages':>10}"
        f"{'core s':>10}{'elapsed s':>10}  waits for"
    )
    for stage in found[:only]:
        outcome = stage.outcome
        parts = sorted(outcome.waited.items(), key=lambda part: -part[1])[:2]
        waits = ", ".join(
            f"{name} {100 * s / max(outcome.seconds, 1e-9):.0f} %" for name, s in parts
        )
        print(
            f"  {stage.name:26}{stage.count:6}{1e-12 * stage.read_bytes:9.2f}"
            f"{1e-9 * outcome.n_bytes:10.3f}{outcome.n_tasks:8,}{outcome.n_messages:10,}"
            f"{stage.work:10,.0f}{stage.seconds:10.1f}  {waits}"
        )
