# SPDX-License-Identifier: BSD-3-Clause
"""SVM, IC-SVM, TGPLM and the ceiling with parameters chosen as the paper may have chosen them.

Its words are "classification accuracy of 10-fold cross-validation on the training set". Bags are
held out whole, in ten folds or as many as there are bags; source rows in ten folds with both
classes in each. All parameters are chosen within one draw, then the machine is fitted on all of
its rows.

* SVM is trained on the source, and chosen by accuracy on held-out source rows in either reading.
* IC-SVM is trained on bags. Oracle: accuracy on the rows of held-out bags, by their hidden labels.
  Source: it has none, so the share error of held-out bags stands in (no label).
* TGPLM is trained on both. Oracle: as IC-SVM. Source: accuracy of its source machine on held-out
  source rows.
* The ceiling is given the true labels, and chosen by them in folds, under either reading.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from bagshift.estimators import TGPLM, InverseCalibrationSVM, SourceSVM, TrueLabelSVM
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._training import TrainingData, read_training
from bagshift.experiments.draws import Draw
from bagshift.experiments.methods import METHODS
from bagshift.experiments.paper.protocols import (
    N_FOLDS,
    GridName,
    PaperSelection,
    Setting,
    accuracy,
    most_regular,
    one_cost_grid,
    paper_grid,
    settings_of,
    written,
)
from bagshift.experiments.runs import Outcome
from bagshift.model_selection import BagKFold, path_search
from bagshift.model_selection._labelled_folds import LabelledFold, count_right
from bagshift.model_selection.path_search import _machines

SVM, IC_SVM, TGPLM_NAME, CEILING = "SVM", "IC-SVM", "TGPLM", "true labels (ceiling)"
MACHINES: dict[str, type[CoupledMachine]] = {
    SVM: SourceSVM,
    IC_SVM: InverseCalibrationSVM,
    TGPLM_NAME: TGPLM,
    CEILING: TrueLabelSVM,
}


def outcome_of(name: str, draw: Draw, selection: PaperSelection, grid: GridName) -> Outcome:
    """Choose the parameters of a method on a draw, fit it and score it.

    Parameters
    ----------
    name : str
        One of `MACHINES`.
    draw : Draw
        The draw.
    selection : {"source", "oracle"}
        How parameters are chosen; see the module.
    grid : {"paper", "quick"}
        Out of which.

    Returns
    -------
    Outcome
    """
    machine = MACHINES[name]()
    values = paper_grid(draw, grid)
    if name != TGPLM_NAME:
        values = one_cost_grid(values)
    with warnings.catch_warnings():
        # Of the many settings some are extreme, and some draws say little; the table shows it.
        warnings.simplefilter("ignore")
        if name == IC_SVM and selection == "source":
            setting, remarks = _by_shares(machine, values, draw)
        else:
            setting, remarks = _by_labels(machine, settings_of(values), draw, selection)
        return scored(fitted(machine, setting, draw), draw, {**setting, **remarks})


def honest_outcome(method: str, draw: Draw) -> Outcome:
    """Return what a method of the league reaches on a draw.

    Parameters
    ----------
    method : str
        Name in :data:`bagshift.experiments.methods.METHODS`.
    draw : Draw
        The draw.

    Returns
    -------
    Outcome
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, setting = METHODS[method].fit(draw)
        return scored(model, draw, setting)


def fixed_outcome(setting: Setting, draw: Draw) -> Outcome:
    """Return what TGPLM reaches on a draw with parameters that nobody chose.

    Parameters
    ----------
    setting : dict
        Its parameters.
    draw : Draw
        The draw.

    Returns
    -------
    Outcome
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scored(fitted(TGPLM(), setting, draw), draw, setting)


def scored(model: Any, draw: Draw, chosen: Mapping[str, Any]) -> Outcome:
    """Return what a fitted classifier reaches on the rows of a draw.

    Parameters
    ----------
    model : classifier
        Fitted.
    draw : Draw
        The draw.
    chosen : mapping
        Its parameters and what else is to be known of their choice.

    Returns
    -------
    Outcome
    """
    return Outcome(
        fresh=accuracy(draw.y_fresh, model.predict(draw.X_fresh)),
        in_sample=accuracy(draw.y_bagged, model.predict(draw.X_bagged)),
        chosen=written(chosen),
    )


def fitted(machine: CoupledMachine, setting: Setting, draw: Draw) -> Any:
    """Return a machine fitted on all rows of a draw that it may see.

    Parameters
    ----------
    machine : CoupledMachine
        Unfitted; it is cloned.
    setting : dict
        Its parameters.
    draw : Draw
        The draw.

    Returns
    -------
    classifier
    """
    model = clone(machine).set_params(**setting)
    if isinstance(machine, TrueLabelSVM):
        return model.fit(draw.X_bagged, draw.y_bagged)
    source = None if isinstance(machine, InverseCalibrationSVM) else draw.source
    return model.fit(draw.X_bagged, draw.bags, source=source)


def right_in_folds(
    machine: CoupledMachine,
    settings: list[Setting],
    draw: Draw,
    domain: Literal["source", "target"],
) -> NDArray[np.int64]:
    """Count the rows of a domain that every setting labels right while they are held out.

    Parameters
    ----------
    machine : CoupledMachine
        Unfitted.
    settings : list of dict
        Parameters to try.
    draw : Draw
        The draw; its seed is that of the folds.
    domain : {"source", "target"}
        Whose rows are held out.

    Returns
    -------
    ndarray of shape (n_settings,)
    """
    truth = draw.y_source if domain == "source" else draw.y_bagged
    folds = _folds(draw, domain)
    machines = _machines(machine, list(settings))
    right: NDArray[np.int64] = count_right(machines, _training(machine, draw), folds, truth)
    return np.asarray(right.sum(axis=1))


def _by_labels(
    machine: CoupledMachine, settings: list[Setting], draw: Draw, selection: PaperSelection
) -> tuple[Setting, dict[str, Any]]:
    """Return the most regular of the settings that get most held-out rows right."""
    if isinstance(machine, TrueLabelSVM):
        selection = "oracle"
    elif isinstance(machine, SourceSVM):
        selection = "source"
    domain: Literal["source", "target"] = "source" if selection == "source" else "target"
    right = right_in_folds(machine, settings, draw, domain)
    tied = [settings[i] for i in np.flatnonzero(right == right.max())]
    n_rows = len(draw.y_source if domain == "source" else draw.y_bagged)
    in_sample = _in_sample(machine, tied, draw)
    return tied[most_regular(tied)], {
        "score": round(float(right.max()) / n_rows, 6),
        "tied": len(tied),
        "tied_lowest": round(float(in_sample.min()), 6),
        "tied_mean": round(float(in_sample.mean()), 6),
        "tied_highest": round(float(in_sample.max()), 6),
    }


def _in_sample(
    machine: CoupledMachine, settings: list[Setting], draw: Draw
) -> NDArray[np.float64]:
    """Return the accuracy of settings on the bagged rows, all of them trained on."""
    machines = _machines(machine, settings)
    right = count_right(machines, _training(machine, draw), [_everything(draw)], draw.y_bagged)
    return right[:, 0] / len(draw.y_bagged)


def _by_shares(
    machine: CoupledMachine, grid: dict[str, list[float]], draw: Draw
) -> tuple[Setting, dict[str, Any]]:
    """Return the setting with the least share error of held-out bags."""
    found = path_search(machine, draw.X_bagged, draw.bags, grid=grid, cv=_bag_folds(draw))
    return found.best_params, {"score": round(found.best_score, 6), "by": "share-error"}


def _training(machine: CoupledMachine, draw: Draw) -> TrainingData:
    if isinstance(machine, TrueLabelSVM):
        return read_training(clone(machine), draw.X_bagged, draw.y_bagged)
    source = None if isinstance(machine, InverseCalibrationSVM) else draw.source
    return read_training(clone(machine), draw.X_bagged, draw.bags, source=source)


def _bag_folds(draw: Draw) -> BagKFold:
    return BagKFold(min(N_FOLDS, len(draw.shares)), shuffle=True, random_state=draw.seed)


def _folds(draw: Draw, domain: Literal["source", "target"]) -> list[LabelledFold]:
    if domain == "target":
        splits = _bag_folds(draw).split(draw.X_bagged, draw.bags)
    else:
        splits = source_folds(draw)
    return [LabelledFold(domain, np.sort(train), np.sort(test)) for train, test in splits]


def source_folds(draw: Draw) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the folds that source rows are held out in, with both classes in each.

    Parameters
    ----------
    draw : Draw
        Its seed is that of the folds.

    Returns
    -------
    iterator of (train, test)
    """
    fewest = int(np.unique(draw.y_source, return_counts=True)[1].min())
    folds = StratifiedKFold(min(N_FOLDS, fewest), shuffle=True, random_state=draw.seed)
    splits: Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]
    splits = folds.split(np.zeros((len(draw.y_source), 1)), draw.y_source)
    return splits


def _everything(draw: Draw) -> LabelledFold:
    rows = np.arange(len(draw.y_bagged))
    return LabelledFold("target", rows, rows)
