# SPDX-License-Identifier: BSD-3-Clause
"""How much memory and disk each step of reading takes, before it begins.

DuckDB writes to disk what does not fit into its memory, so only what is kept outside of it can be
too much: the list of bags, and the part that is being written.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from bagshift.exceptions import TableError, plural
from bagshift.scale.connection import (
    LEAST_ENGINE_MEMORY,
    ON_THEIR_WAY,
    memory_bytes,
    resident_bytes,
)
from bagshift.scale.decoding import PART_BYTES
from bagshift.scale.means import BYTES_PER_GROUP, BYTES_PER_MEAN

# Number of rows, mark, share, size and law of a bag, and more while they are put together.
BYTES_PER_BAG = 8 + 1 + 8 + 8 + 8 + 32
BYTES_PER_COUNT, BYTES_PER_SORTED_ROW = 60, 24
# Targets, tubes, boxes and costs of units, and what is computed of them; rows that lead the way;
# matrices of the size of all unknowns.
BYTES_PER_TARGET_UNIT, BYTES_PER_SOURCE_ROW = 120, 60
MOST_LEADING_ROWS, MOST_LEADING_UNITS, FULL_SQUARES = 400_000, 250_000, 10
# Chunks of rows that are mapped at a time, in double precision: kernel values and features.
MAPPED_CHUNKS = 8 * 8_192 * 8
SAMPLED_TEXTS = 100_000 * 60


@dataclass(frozen=True)
class Step:
    """What one step takes.

    Attributes
    ----------
    name : str
        What is done.
    least_memory : int
        Bytes without which it cannot be done.
    useful_memory : int
        Bytes with which nothing of it is written to disk for want of memory.
    result_bytes, spill_bytes : int
        Bytes on disk that stay, and those that are there only while the step runs, at most.
    advice : str
        What makes it smaller.
    """

    name: str
    least_memory: int
    useful_memory: int
    result_bytes: int = 0
    spill_bytes: int = 0
    advice: str = "leave out columns"


@dataclass(frozen=True)
class Plan:
    """What all steps take.

    Attributes
    ----------
    steps : tuple of Step
    memory : int
        Bytes that the process may hold.
    held : int
        Bytes that it holds already.
    folder : Path
        Where results and what does not fit into memory are written.
    free_disk : int
        Bytes that are free there.
    """

    steps: tuple[Step, ...]
    memory: int
    held: int
    folder: Path
    free_disk: int

    @property
    def disk_bytes(self) -> int:
        """Bytes on disk: all results, and what the largest step spills."""
        return sum(s.result_bytes for s in self.steps) + max(s.spill_bytes for s in self.steps)

    def check(self) -> None:
        """Raise when a step cannot be done.

        Raises
        ------
        TableError
            Names the step, what it takes, what there is, and the ways out.
        """
        for step in self.steps:
            needed = self.held + step.least_memory
            if needed > self.memory:
                raise TableError(
                    f"{step.name} needs {_size(needed)} of memory but memory= allows "
                    f"{_size(self.memory)}: raise it, {step.advice}, or group the rows by bag "
                    "where they are with the statement of bag_means_sql."
                )
        if self.disk_bytes > self.free_disk:
            largest = max(self.steps, key=lambda step: step.result_bytes + step.spill_bytes)
            raise TableError(
                f"{self.folder} has {_size(self.free_disk)} free but up to "
                f"{_size(self.disk_bytes)} may be needed, most of it for {largest.name.lower()}: "
                f"name another folder, or {largest.advice}."
            )


def plan(
    memory: str | int,
    folder: str | Path,
    *,
    n_features: int,
    n_target: int,
    n_bags: int,
    n_source: int = 0,
    n_text_columns: int = 0,
    largest_bag: int = 0,
    id_bytes: int = 8,
    decode_target: bool = False,
    mean_bytes: int = 4,
    from_csv: bool = False,
    fits: bool = False,
    n_components: int = 0,
    means_of_mapped: bool = False,
) -> Plan:
    """Estimate what each step takes.

    Parameters
    ----------
    memory : str or int
        What the process may hold, such as ``"4GB"``.
    folder : str or Path
        Where results are to be written; it need not exist.
    n_features : int
        Features that the columns become.
    n_target, n_bags : int
        Rows and bags of the target.
    n_source : int, default=0
        Rows of the history.
    n_text_columns : int, default=0
        Columns of text, and in CSV files all columns.
    largest_bag : int, default=0
        Rows of the largest bag.
    id_bytes : int, default=8
        Letters of a bag id.
    decode_target : bool, default=False
        Whether the rows of the target are needed bag by bag, and not only their means.
    mean_bytes : int, default=4
        Bytes of a number among the means of bags: 4 or 8.
    from_csv : bool, default=False
        Whether the rows of the target are read from CSV files.
    fits : bool, default=False
        Whether a machine is fitted on the results in the same process.
    n_components : int, default=0
        Features of a map that goes over the rows in the fit; 0 for no map.
    means_of_mapped : bool, default=False
        Whether means of bags of mapped rows are stored.

    Returns
    -------
    Plan
    """
    steps = [
        Step("Looking at the columns", n_text_columns * SAMPLED_TEXTS, n_text_columns * 10**8),
        _index_step(n_bags, id_bytes),
    ]
    if decode_target:
        steps.append(_sorting_step(n_target, n_features, largest_bag))
    else:
        steps.append(_means_step(n_target, n_bags, n_features, mean_bytes, from_csv))
    if n_source:
        steps.append(_decoding_step(n_source, n_features))
    if means_of_mapped:
        steps.append(_mapping_step(n_bags, n_components))
    if fits:
        by_rows = decode_target and not means_of_mapped
        fitting = _fit_step(n_bags, n_source, n_components or n_features, by_rows)
        advice = "take fewer --components" if n_components else fitting.advice
        steps.append(replace(fitting, advice=advice))
    folder = Path(folder)
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    # What DuckDB cannot do without is part of every step.
    least = LEAST_ENGINE_MEMORY + ON_THEIR_WAY
    steps = [replace(step, least_memory=step.least_memory + least) for step in steps]
    return Plan(tuple(steps), memory_bytes(memory), resident_bytes(), folder, free)


def _fit_step(n_bags: int, n_source: int, n_features: int, by_rows: bool) -> Step:
    """Estimate what units take, and the rows in memory that lead the way."""
    kept = n_bags * (BYTES_PER_BAG + BYTES_PER_TARGET_UNIT) + n_source * BYTES_PER_SOURCE_ROW
    # Rows in memory are copied once to double precision.
    led = (MOST_LEADING_ROWS if by_rows else MOST_LEADING_UNITS) * 12 * n_features
    squares = 8 * FULL_SQUARES * (2 * n_features + 2) ** 2
    return Step("Fitting", kept + min(led, 12 * n_features * n_bags) + squares, kept)


def _mapping_step(n_bags: int, n_components: int) -> Step:
    """Estimate what the means of mapped rows take."""
    at_a_time = PART_BYTES + MAPPED_CHUNKS * n_components
    return Step(
        f"Mapping the rows of {plural(n_bags, 'bag')}",
        at_a_time,
        at_a_time,
        result_bytes=4 * n_bags * n_components,
        advice="take fewer --components",
    )


def _size(n_bytes: int) -> str:
    """Write bytes as MB, or GB from one GB up."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"


def _index_step(n_bags: int, id_bytes: int) -> Step:
    kept = n_bags * (BYTES_PER_BAG + id_bytes)
    name = f"Counting the rows of {plural(n_bags, 'bag')}"
    in_table = n_bags * (id_bytes + BYTES_PER_COUNT)
    return Step(name, kept, kept + in_table, spill_bytes=in_table, advice="take larger bags")


def _means_step(
    n_target: int, n_bags: int, n_features: int, mean_bytes: int, from_csv: bool
) -> Step:
    group_bytes = BYTES_PER_GROUP + BYTES_PER_MEAN * n_features
    groups = n_bags * group_bytes
    return Step(
        f"Computing the means of {plural(n_bags, 'bag')}",
        0,
        2 * groups,
        result_bytes=n_bags * n_features * mean_bytes,
        # Other rows than those of CSV files are read once more instead.
        spill_bytes=n_target * group_bytes if from_csv else 0,
        advice="leave out columns or take larger bags, or Parquet files if these are CSV",
    )


def _sorting_step(n_rows: int, n_features: int, largest_bag: int) -> Step:
    row_bytes = 4 * n_features
    part = max(PART_BYTES, largest_bag * row_bytes)
    in_sort = n_rows * (row_bytes + BYTES_PER_SORTED_ROW)
    return Step(
        f"Putting {plural(n_rows, 'row')} in the order of their bags",
        part - PART_BYTES,
        part + in_sort,
        result_bytes=n_rows * (row_bytes + 4),
        spill_bytes=in_sort,
        advice="leave out columns or fit TGPLM, which needs only the means of bags",
    )


def _decoding_step(n_rows: int, n_features: int) -> Step:
    return Step(
        f"Decoding {plural(n_rows, 'row')} of history",
        0,
        PART_BYTES,
        result_bytes=n_rows * (4 * n_features + 1),
        advice="leave out columns or take a sample of the history",
    )
