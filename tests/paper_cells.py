# SPDX-License-Identifier: BSD-3-Clause
"""Cells made up so that the answer is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bagshift.experiments.cells import Cell
from bagshift.experiments.paper.statistics import Results

SIZES = (2, 4, 8, 16)


def results(values: Mapping[str, Sequence[Sequence[float]]]) -> Results:
    """Make cells out of accuracies by method, draw and bag size."""
    cells = [
        Cell(
            task="task",
            bags="random",
            bag_size=size,
            method=method,
            draw=draw,
            status="done",
            fresh=value - 0.1,
            in_sample=value,
            chosen="",
            reason="",
            seconds=0.0,
            finished="",
            version="",
        )
        for method, of_method in values.items()
        for draw, of_draw in enumerate(of_method)
        for size, value in zip(SIZES, of_draw, strict=False)
    ]
    return Results({cell.key: cell for cell in cells})
