# SPDX-License-Identifier: BSD-3-Clause
"""Passes over units and rows that lie on the workers of a Dask cluster.

The rows of a machine are cut into blocks: each has the same power of two of whole chunks, but the
last, which may be smaller. A pass is one task for every block, tasks that add their results up
along the tree of :mod:`bagshift.solvers._sums`, and one small result that comes back. That tree
knows neither blocks nor workers, so the sums are those of one process to the last digit.

Blocks are results of tasks, so Dask itself computes those anew that a lost worker held. Nothing
here schedules, tries again or moves data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from dask.sizeof import sizeof
from distributed import Client, Future
from numpy.typing import NDArray

from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._sums import Sums, add_up
from bagshift.solvers.count_likelihood import BagCounts
from bagshift.solvers.count_passes import RowPasses, Rows
from bagshift.solvers.count_passes import standing_for as rows_standing_for
from bagshift.solvers.count_rows import CountedRows, LabelledRows
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.unit_passes import UnitPasses, are_lines_held, concatenate
from bagshift.solvers.unit_passes import standing_for as units_standing_for

__all__ = ["Blocks", "DaskRowPasses", "DaskUnitPasses"]

Floats = NDArray[np.float64]
Held = list[tuple[Floats, Floats]]
Part = TypeVar("Part")

# Results that one task adds up; a power of two.
_ADDENDS = 8


@dataclass(frozen=True, eq=False)
class Blocks:
    """The units of one machine, in blocks on a cluster.

    Attributes
    ----------
    client : distributed.Client
    futures : list of distributed.Future
        Of :class:`LinearUnits`, or of :class:`LabelledRows`, or of :class:`CountedRows`.
    n_chunks_each : int
        Chunks of every block but the last; a power of two.
    n_rows, n_units, n_features : int
        Of all blocks together.
    """

    client: Client
    futures: list[Future]
    n_chunks_each: int
    n_rows: int
    n_units: int
    n_features: int

    def ask(self, question: str, *arguments: Any) -> list[Future]:
        """Ask passes over each block, where it lies.

        Parameters
        ----------
        question : str
            Name of a method of :class:`UnitPasses` or :class:`RowPasses`.
        *arguments : object
            What it is given.

        Returns
        -------
        list of distributed.Future
            An answer for each block, in their order.
        """
        return self.map(_answer, self._first_chunks, question=question, arguments=arguments)

    def map(self, compute: Callable[..., Any], *others: list[Any], **options: Any) -> list[Future]:
        """Compute something of each block, and of what else there is for each.

        Parameters
        ----------
        compute : callable
            Takes a block, one of each of the others, and the options.
        *others : list
            Of as many things as there are blocks.
        **options : object

        Returns
        -------
        list of distributed.Future
        """
        name = options.get("question", compute.__name__.lstrip("_"))
        return list(
            self.client.map(
                compute, self.futures, *others, key=f"bagshift-{name}", pure=False, **options
            )
        )

    def added_up(self, parts: list[Future]) -> Any:
        """Add up a result for each block, on the cluster, and fetch the sum.

        Parameters
        ----------
        parts : list of distributed.Future

        Returns
        -------
        Sums or ndarray
        """
        while len(parts) > 1:
            groups = [parts[i : i + _ADDENDS] for i in range(0, len(parts), _ADDENDS)]
            parts = list(self.client.map(_total, groups, key="bagshift-add-up", pure=False))
        return parts[0].result()

    def fetched(self, parts: list[Future]) -> list[Any]:
        """Fetch a result for each block.

        Parameters
        ----------
        parts : list of distributed.Future

        Returns
        -------
        list
        """
        return list(self.client.gather(parts))

    @property
    def _first_chunks(self) -> list[int]:
        return [number * self.n_chunks_each for number in range(len(self.futures))]


@dataclass(frozen=True, eq=False)
class DaskUnitPasses:
    """Passes over units of the coupled linear problem on a cluster.

    Every answer is that of :class:`UnitPasses`, where they are explained, to the last digit.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`LinearUnits`.
    """

    blocks: Blocks

    waits: ClassVar[bool] = True

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.blocks.n_units

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.blocks.n_features

    @property
    def total_cost(self) -> float:
        """Sum of the costs."""
        return float(self.blocks.added_up(self.blocks.map(_total_cost)))

    @property
    def holds_lines(self) -> bool:
        """Whether the units are few enough to keep two numbers of each."""
        return are_lines_held(self.n_units)

    def square_sum(self) -> float:
        """Return the sum of the squares of all features.

        Returns
        -------
        float
        """
        return float(self.blocks.added_up(self.blocks.map(_square_sum)))

    def sums(self, machine: LinearMachine, smoothing: float) -> Sums:
        """Return loss, gap, slope and curvature at a machine.

        Parameters
        ----------
        machine : LinearMachine
        smoothing : float

        Returns
        -------
        Sums
        """
        return self._sums("sums", machine, smoothing)

    def settled(self, machine: LinearMachine, width: float, later: LinearMachine) -> Sums:
        """Return loss and gap of the units that `near` left out, at a later machine.

        Parameters
        ----------
        machine, width
            What `near` was asked.
        later : LinearMachine

        Returns
        -------
        Sums
        """
        return self._sums("settled", machine, width, later)

    def line(
        self, machine: LinearMachine, direction: LinearMachine, smoothing: float
    ) -> Callable[[Floats], Floats]:
        """Return the slope of the smoothed loss along a line, as a function of places on it.

        Parameters
        ----------
        machine, direction : LinearMachine
        smoothing : float

        Returns
        -------
        callable
            What is held of few units is held where they lie.
        """
        blocks = self.blocks
        if not self.holds_lines:
            line = (machine, direction, smoothing)
            return lambda lengths: np.asarray(
                blocks.added_up(blocks.map(_slopes, line=line, lengths=lengths))
            )
        held = blocks.ask("along", machine, direction)
        return lambda lengths: np.asarray(
            blocks.added_up(blocks.map(_held_slopes, held, smoothing=smoothing, lengths=lengths))
        )

    def sample(self, part: float) -> LinearUnits:
        """Draw units, with costs that stand for all of them.

        Parameters
        ----------
        part : float

        Returns
        -------
        LinearUnits
        """
        drawn = concatenate(self.blocks.fetched(self.blocks.ask("draw", part)))
        return units_standing_for(self.n_units, drawn)

    def near(self, machine: LinearMachine, width: float) -> tuple[UnitPasses, Sums]:
        """Part the units by their distance from the borders of their tubes.

        Parameters
        ----------
        machine : LinearMachine
        width : float

        Returns
        -------
        near : UnitPasses
            Over those at most this far away, in the memory of this process.
        settled : Sums
            Slope of the losses of the others.
        """
        parts = self.blocks.fetched(self.blocks.map(_near, machine=machine, width=width))
        near = UnitPasses(concatenate(part[0] for part in parts))
        return near, add_up(iter([part[1] for part in parts]), len(parts))

    def room(self, machine: LinearMachine, *, up: bool) -> tuple[float, float]:
        """Return what a small change of the intercept does, and how long that stays so.

        Parameters
        ----------
        machine : LinearMachine
        up : bool

        Returns
        -------
        slope, room : float
        """
        parts = self.blocks.fetched(self.blocks.map(_room, machine=machine, up=up))
        slope = add_up((np.array(slope) for slope, _ in parts), len(parts))
        return float(slope), min(room for _, room in parts)

    def gathered(self) -> UnitPasses:
        """Return passes over the same units in the memory of this process.

        Returns
        -------
        UnitPasses
        """
        return UnitPasses(concatenate(self.blocks.fetched(self.blocks.futures)))

    def _sums(self, question: str, *arguments: Any) -> Sums:
        found = self.blocks.added_up(self.blocks.ask(question, *arguments))
        assert isinstance(found, Sums)
        return found


@dataclass(frozen=True, eq=False)
class DaskRowPasses:
    """Passes over rows of the coupled logistic problem on a cluster.

    Every answer is that of :class:`RowPasses`, where they are explained, to the last digit.

    Parameters
    ----------
    blocks : Blocks
        Of :class:`LabelledRows` or :class:`CountedRows`.
    """

    blocks: Blocks

    waits: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.blocks.n_rows

    @property
    def n_units(self) -> int:
        """Number of bags, or of labelled rows."""
        return self.blocks.n_units

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.blocks.n_features

    def sums(self, machine: LinearMachine) -> Sums:
        """Return loss, slope and curvature at a machine.

        Parameters
        ----------
        machine : LinearMachine

        Returns
        -------
        Sums
        """
        found = self.blocks.added_up(self.blocks.ask("sums", machine))
        assert isinstance(found, Sums)
        return found

    def sample(self, part: float) -> Rows | None:
        """Draw units, with costs that stand for all of them.

        Parameters
        ----------
        part : float

        Returns
        -------
        LabelledRows or CountedRows or None
        """
        drawn = self.blocks.fetched(self.blocks.ask("draw", part))
        return rows_standing_for(self.n_units, drawn)


# Tasks ------------------------------------------------------------------------------------


def _answer(block: Any, first_chunk: int, question: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(_passes(block, first_chunk), question)(*arguments)


def _passes(block: Any, first_chunk: int = 0) -> Any:
    """Return passes over a block in the memory of a worker."""
    kind = UnitPasses if isinstance(block, LinearUnits) else RowPasses
    return kind(aligned(block), first_chunk=first_chunk)


def aligned(part: Part) -> Part:
    """Return a block whose numbers begin where numbers should.

    Arrays that Dask moved may begin at any byte. Products of these take many times as long and
    differ in the last digit.

    Parameters
    ----------
    part : LinearUnits, LabelledRows or CountedRows

    Returns
    -------
    object
        Of the same kind; a copy only where there is need.
    """
    if isinstance(part, np.ndarray):
        return np.require(part, requirements="A")
    if not is_dataclass(part) or isinstance(part, type):
        return part
    return replace(part, **{f.name: aligned(getattr(part, f.name)) for f in fields(part)})


def _total(parts: list[Any]) -> Any:
    return add_up(iter(parts), len(parts))


def _total_cost(units: LinearUnits) -> Floats:
    return np.array(_passes(units).total_cost)


def _square_sum(units: LinearUnits) -> Floats:
    return np.array(_passes(units).square_sum())


def _slopes(
    units: LinearUnits, line: tuple[LinearMachine, LinearMachine, float], lengths: Floats
) -> Any:
    return _passes(units).line(*line)(lengths)


def _held_slopes(units: LinearUnits, held: Held, smoothing: float, lengths: Floats) -> Any:
    return _passes(units).slopes(held, smoothing, lengths)


def _near(units: LinearUnits, machine: LinearMachine, width: float) -> tuple[LinearUnits, Sums]:
    near, settled = _passes(units).near(machine, width)
    return near.units, settled


def _room(units: LinearUnits, machine: LinearMachine, up: bool) -> Any:
    return _passes(units).room(machine, up=up)


@sizeof.register((LinearUnits, LabelledRows, CountedRows, BagCounts))  # type: ignore[untyped-decorator]
def _size(block: Any) -> int:
    """Tell Dask, which moves and spills blocks by their size, how many bytes one has."""
    return sum(sizeof(part) for part in vars(block).values())
