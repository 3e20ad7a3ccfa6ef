# SPDX-License-Identifier: BSD-3-Clause
"""Passes whose answers are kept in files, so that a search that was killed can be gone on with.

An optimiser is a function of what its passes answer, and nothing else. So a search that begins
again asks the same questions in the same order; those that were answered before are answered from
the files at once, and the search goes on where it was, to the same result to the last digit. No
optimiser needs to know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from bagshift.atomic import whole_file
from bagshift.solvers._coordinates import LinearMachine
from bagshift.solvers._linear_passes import LinearPasses
from bagshift.solvers._sums import Sums
from bagshift.solvers.count_passes import Passes, Rows
from bagshift.solvers.linear_units import LinearUnits
from bagshift.solvers.unit_passes import UnitPasses

__all__ = ["PassLog", "recorded_linear_passes", "recorded_passes"]

Floats = NDArray[np.float64]
Answer = dict[str, NDArray[Any]]
AnyPasses = TypeVar("AnyPasses", Passes, LinearPasses)


@dataclass(eq=False)
class PassLog:
    """Answers in the order of their questions, one file for each.

    Parameters
    ----------
    folder : Path
        Of the files; it exists. Files of other questions than those asked are written anew.
    """

    folder: Path
    _n_asked: int = field(default=0, init=False)

    @property
    def n_answers(self) -> int:
        """Answers so far, from files or not."""
        return self._n_asked

    def answer(self, question: list[Any], compute: Callable[[], Answer]) -> Answer:
        """Return the answer to the next question.

        Parameters
        ----------
        question : list
            Texts, numbers and arrays.
        compute : callable
            Makes the pass.

        Returns
        -------
        dict of str to ndarray
        """
        mark = _mark(question)
        file = self.folder / f"pass-{self._n_asked:06d}.npz"
        self._n_asked += 1
        known = _read(file, mark)
        if known is not None:
            return known
        found = compute()
        with whole_file(file) as draft:
            np.savez(draft, mark=mark, **found)  # type: ignore[arg-type]
        return found


def recorded_passes(passes: Passes, log: PassLog) -> Passes:
    """Return passes of the coupled logistic problem whose answers are kept.

    Parameters
    ----------
    passes : Passes
        Where answers that are not in the files come from.
    log : PassLog
        Of these passes alone.

    Returns
    -------
    Passes
        Draws are not kept: they are made again.
    """
    return _RecordedPasses(passes, log)


def recorded_linear_passes(passes: LinearPasses, log: PassLog) -> LinearPasses:
    """Return passes of the coupled linear problem whose answers are kept.

    Parameters
    ----------
    passes : LinearPasses
        Where answers that are not in the files come from.
    log : PassLog
        Of these passes alone.

    Returns
    -------
    LinearPasses
        Draws, and the units near a border, are not kept: they are found again.
    """
    return _RecordedLinearPasses(passes, log)


def _mark(question: list[Any]) -> NDArray[np.uint8]:
    digest = blake2b(digest_size=16)
    for part in question:
        digest.update(part.encode() if isinstance(part, str) else np.asarray(part).tobytes())
        digest.update(b";")
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _read(file: Path, mark: NDArray[np.uint8]) -> Answer | None:
    """Return the answer in a file; None when there is none, or one to another question."""
    if not file.exists():
        return None
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            known = dict(stored)
    except (OSError, ValueError, EOFError, BadZipFile):
        return None
    return known if np.array_equal(known.pop("mark", None), mark) else None


@dataclass(frozen=True, eq=False)
class _Recorded(Generic[AnyPasses]):
    """What both kinds of passes have in common."""

    passes: AnyPasses
    log: PassLog

    @property
    def n_units(self) -> int:
        return self.passes.n_units

    @property
    def n_features(self) -> int:
        return self.passes.n_features

    @property
    def waits(self) -> bool:
        return self.passes.waits

    def _sums(self, question: list[Any], compute: Callable[[], Sums]) -> Sums:
        return _to_sums(self.log.answer(question, lambda: _from_sums(compute())))


class _RecordedPasses(_Recorded[Passes]):
    """Passes of the coupled logistic problem."""

    @property
    def n_rows(self) -> int:
        return self.passes.n_rows

    def sums(self, machine: LinearMachine) -> Sums:
        return self._sums(["sums", *_parts(machine)], lambda: self.passes.sums(machine))

    def sample(self, part: float) -> Rows | None:
        return self.passes.sample(part)


class _RecordedLinearPasses(_Recorded[LinearPasses]):
    """Passes of the coupled linear problem."""

    @property
    def total_cost(self) -> float:
        return self.passes.total_cost

    @property
    def holds_lines(self) -> bool:
        return self.passes.holds_lines

    def square_sum(self) -> float:
        return float(self._array(["squares"], lambda: self.passes.square_sum()))

    def sums(self, machine: LinearMachine, smoothing: float) -> Sums:
        question = ["sums", *_parts(machine), smoothing]
        return self._sums(question, lambda: self.passes.sums(machine, smoothing))

    def line(
        self, machine: LinearMachine, direction: LinearMachine, smoothing: float
    ) -> Callable[[Floats], Floats]:
        known: list[Callable[[Floats], Floats]] = []

        def slopes(lengths: Floats) -> Floats:
            if not known:
                known.append(self.passes.line(machine, direction, smoothing))
            return known[0](lengths)

        if self.passes.holds_lines:
            return slopes
        question = ["line", *_parts(machine), *_parts(direction), smoothing]
        return lambda lengths: self._array([*question, lengths], lambda: slopes(lengths))

    def sample(self, part: float) -> LinearUnits:
        return self.passes.sample(part)

    def near(self, machine: LinearMachine, width: float) -> tuple[UnitPasses, Sums]:
        return self.passes.near(machine, width)

    def settled(self, machine: LinearMachine, width: float, later: LinearMachine) -> Sums:
        question = ["settled", *_parts(machine), width, *_parts(later)]
        return self._sums(question, lambda: self.passes.settled(machine, width, later))

    def room(self, machine: LinearMachine, *, up: bool) -> tuple[float, float]:
        question = ["room", *_parts(machine), float(up)]
        slope, room = self._array(question, lambda: np.array(self.passes.room(machine, up=up)))
        return float(slope), float(room)

    def gathered(self) -> UnitPasses:
        return self.passes.gathered()

    def _array(self, question: list[Any], compute: Callable[[], Any]) -> Floats:
        return self.log.answer(question, lambda: {"found": np.asarray(compute())})["found"]


def _parts(machine: LinearMachine) -> list[Any]:
    return [machine.weights, machine.intercept]


def _from_sums(sums: Sums) -> Answer:
    found = {"loss": sums.loss, "gap": sums.gap, "slope": sums.slope, "n_free": sums.n_free}
    if sums.curvature is not None:
        found["curvature"] = sums.curvature
    return {name: np.asarray(value) for name, value in found.items()}


def _to_sums(answer: Answer) -> Sums:
    return Sums(
        float(answer["loss"]),
        float(answer["gap"]),
        answer["slope"],
        answer.get("curvature"),
        int(answer["n_free"]),
    )
