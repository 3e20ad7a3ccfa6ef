# SPDX-License-Identifier: BSD-3-Clause
"""Cells as a league would leave them: from a few numbers, or many that look real."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bagshift.experiments.cells import Cell

FLOOR, CEILING, OURS = "source-svm", "ceiling", "CountLikelihoodCV"
# Share of the gap that a method closes on the mean.
STRENGTHS = {
    FLOOR: 0.0,
    "SourceSVM": 0.02,
    "PriorShift": 0.15,
    "TSVM": 0.3,
    "DASVM": 0.25,
    "LWE": 0.05,
    "LMPROJ": 0.0,
    "DAKSVM": -0.05,
    "TrSVM": 0.1,
    "InverseCalibrationSVM": 0.55,
    "MeanMap": 0.4,
    "LaplacianMeanMap": 0.42,
    "AlternatingMeanMap": 0.6,
    "EasyLLP": 0.35,
    "LLPKMeans": -0.4,
    "ProportionSVM": 0.6,
    "BagEM": 0.78,
    "BagCSI": 0.5,
    "ProportionMatching": 0.8,
    "TGPLMCV": 0.72,
    "TGPLMPlus": 0.76,
    "CountLikelihoodCV(no source)": 0.7,
    OURS: 0.9,
    CEILING: 1.0,
}
SETTINGS = (("random", 8), ("random", 32), ("clustered", 8), ("natural", 0))


def a_cell(task: str, method: str, draw: int, fresh: float = math.nan, **changes: object) -> Cell:
    parts = {
        "task": task,
        "bags": "random",
        "bag_size": 8,
        "method": method,
        "draw": draw,
        "status": "done",
        "fresh": fresh,
        "in_sample": min(fresh + 0.01, 1.0),
        "chosen": "C=1",
        "reason": "",
        "seconds": 1.5,
        "finished": "2026-01-01T00:00:00+00:00",
        "version": "0.1.0",
    }
    return Cell(**(parts | changes))


def cells_of(fresh: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Cell]:
    """Return cells of tasks of methods of accuracies, draw by draw; NaN is no cell."""
    return [
        a_cell(task, method, draw, value)
        for task, by_method in fresh.items()
        for method, values in by_method.items()
        for draw, value in enumerate(values)
        if not math.isnan(value)
    ]


def many_cells(n_tasks: int = 6, n_draws: int = 4, *, n_settings: int = 2) -> list[Cell]:
    """Return cells of all methods that look like those of a run."""
    rng = np.random.default_rng(5)
    cells = []
    for bags, bag_size in SETTINGS[:n_settings]:
        for number in range(n_tasks):
            task = f"task {number + 1:02d}"
            floor = rng.uniform(0.55, 0.85)
            gap = rng.uniform(0.1, 0.97 - floor) if number % 6 else 0.02
            for method, strength in STRENGTHS.items():
                noise = 0.0 if method in (FLOOR, CEILING) else rng.normal(0, 0.12)
                for draw in range(n_draws):
                    fresh = floor + gap * (strength + noise) + rng.normal(0, 0.012)
                    cells.append(
                        a_cell(
                            task,
                            method,
                            draw,
                            round(float(np.clip(fresh, 0.02, 1.0)), 4),
                            bags=bags,
                            bag_size=bag_size,
                            seconds=float(rng.gamma(2.0, 3.0)),
                        )
                    )
    return [_with_faults(cell) for cell in cells]


def _with_faults(cell: Cell) -> Cell:
    """Let one method be impossible on two tasks, and another fail on one draw."""
    none = {"fresh": math.nan, "in_sample": math.nan, "seconds": 0.0}
    if cell.method == "LWE" and cell.task in ("task 02", "task 05"):
        changes = {"status": "impossible", "reason": "LWE cannot take a sparse matrix.", **none}
    elif cell.method == "BagCSI" and (cell.task, cell.draw) == ("task 03", 1):
        changes = {"status": "failed", "reason": "ValueError: array is empty", **none}
    else:
        return cell
    return Cell(**(vars(cell) | changes))
