# SPDX-License-Identifier: BSD-3-Clause
"""TSVM, TrSVM, LWE and LMPROJ as the paper compares with them.

None of them is shown a share. The paper gives no grids for them; ours is a thinned one of its own:
every third kernel width and every third cost, LMPROJ with weights 1 and 100 of its penalty, LWE
with 2, 5 and 10 clusters. TSVM and TrSVM have one cost for both domains. TrSVM is a reconstruction
from a published abstract, and meant for a few labelled target rows, which it is not given here.

Their labelled training set is the source, so they are chosen by accuracy on source rows held out
in ten folds, under either reading of the paper's words. Of equals the most regular one is taken,
of equal LWE the one with the fewest clusters.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from bagshift.estimators import LMPROJ, LWE, TSVM, TrSVM
from bagshift.experiments.draws import Draw
from bagshift.experiments.paper.choosing import scored, source_folds
from bagshift.experiments.paper.protocols import (
    GridName,
    Setting,
    most_regular,
    paper_grid,
)
from bagshift.experiments.runs import Outcome

_STEP = 3
_QUICK_STEP = 3


@dataclass(frozen=True)
class Rival:
    """A method that the paper compares with.

    Attributes
    ----------
    machine : classifier
        Unfitted.
    costs : sequence of str
        Its costs, all of one value.
    others : dict of str to list
        Values of its other parameters.
    """

    machine: Any
    costs: Sequence[str]
    others: dict[str, list[float]]


RIVALS = {
    "TSVM": Rival(TSVM(), ("C_source", "C_target"), {}),
    "TrSVM": Rival(TrSVM(), ("C_source", "C_target"), {}),
    "LWE": Rival(LWE(), (), {"n_clusters": [2, 5, 10]}),
    "LMPROJ": Rival(LMPROJ(), ("C",), {"penalty": [1.0, 100.0]}),
}


def rival_settings(name: str, draw: Draw, grid: GridName) -> list[Setting]:
    """Return what a method may choose from.

    Parameters
    ----------
    name : str
        One of `RIVALS`.
    draw : Draw
        Its source rows set the unit of the kernel widths.
    grid : {"paper", "quick"}
        The thinned grid, or a third of its widths and costs.

    Returns
    -------
    list of dict
    """
    rival = RIVALS[name]
    step = _STEP if grid == "paper" else _STEP * _QUICK_STEP
    values = paper_grid(draw, "paper")
    axes: list[list[Setting]] = [
        [{other: value} for value in of_other] for other, of_other in rival.others.items()
    ]
    if rival.costs:
        axes.append([dict.fromkeys(rival.costs, cost) for cost in values["C_target"][::step]])
        axes.append([{"gamma": gamma} for gamma in values["gamma"][::step]])
    return [
        {name: value for part in combination for name, value in part.items()}
        for combination in product(*axes)
    ]


def rival_outcome(name: str, draw: Draw, grid: GridName) -> Outcome:
    """Choose the parameters of a method on a draw, fit it and score it.

    Parameters
    ----------
    name : str
        One of `RIVALS`.
    draw : Draw
        The draw.
    grid : {"paper", "quick"}
        Out of which its parameters are chosen.

    Returns
    -------
    Outcome
    """
    machine = RIVALS[name].machine
    settings = rival_settings(name, draw, grid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = np.array([_score(machine, setting, draw) for setting in settings])
        tied = [settings[i] for i in np.flatnonzero(scores == scores.max())]
        setting = tied[most_regular(tied)]
        model = _fitted(machine, setting, draw, draw.source)
        remarks = {"score": round(float(scores.max()), 6), "tied": len(tied)}
        return scored(model, draw, {**setting, **remarks})


def _score(machine: Any, setting: Setting, draw: Draw) -> float:
    right = 0
    for train, test in source_folds(draw):
        history = draw.X_source[train], draw.y_source[train]
        model = _fitted(machine, setting, draw, history)
        right += int(np.sum(model.predict(draw.X_source[test]) == draw.y_source[test]))
    return right / len(draw.y_source)


def _fitted(machine: Any, setting: Setting, draw: Draw, source: tuple[Any, Any]) -> Any:
    # No bags: TrSVM would take those of one class as labels.
    return clone(machine).set_params(**setting).fit(draw.X_bagged, None, source=source)
