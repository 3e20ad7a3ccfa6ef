# SPDX-License-Identifier: BSD-3-Clause
"""Every method of the library as it takes part in the league, with what it may choose from.

Most choose by the share error of held-out bags (:mod:`bagshift.experiments.selection`). TGPLMCV,
InverseCalibrationSVM and SourceSVM do so by the path search of the library, with its own grid and
folds; CountLikelihoodCV by its own search, on the counts of held-out bags; LLPKMeans chooses
nothing; floor and ceiling choose by accuracy on their own rows. Costs are those of the protocol,
1/4, 1 and 8, where a cost multiplies a loss of rows; kernels are linear for text and RBF of three
widths else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from bagshift import estimators
from bagshift.experiments.draws import Draw
from bagshift.experiments.selection import (
    Setting,
    mapped,
    rbf_widths,
    score,
    select,
    source_for,
    widths_for,
)
from bagshift.model_selection import TGPLMCV, CountLikelihoodCV, path_search

FLOOR, CEILING = "source-svm", "ceiling"
COSTS = (0.25, 1.0, 8.0)
COUPLINGS = (0.1, 1.0, 10.0)
BAG_COSTS = (16.0, 256.0)
PENALTIES = (1.0, 100.0)

# From a draw to a fitted classifier and what was chosen.
Fit = Callable[[Draw], tuple[Any, Setting]]


@dataclass(frozen=True)
class Method:
    """A method of the league.

    Attributes
    ----------
    name : str
        Name of its class, with a setting that makes it another method.
    fit : callable
        From a draw to a fitted classifier and the parameters chosen.
    learns_from : {"source", "bags", "both", "labels"}
        What it is given; "labels" are the target labels of the bagged rows.
    """

    name: str
    fit: Fit
    learns_from: Literal["source", "bags", "both", "labels"]

    @property
    def is_reference(self) -> bool:
        """Whether it is the floor or the ceiling."""
        return self.name in (FLOOR, CEILING)


def _grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all combinations; names joined by _and_ share one value."""
    settings = []
    for combination in product(*values.values()):
        setting = {}
        for names, value in zip(values, combination, strict=True):
            setting.update(dict.fromkeys(names.split("_and_"), value))
        settings.append(setting)
    return settings


def _searched(
    estimator: Any, settings: Sequence[Setting], in_search: Setting | None = None
) -> Fit:
    """Return the fit of a machine with a kernel."""

    def fit(draw: Draw) -> tuple[Any, Setting]:
        machine = clone(estimator).set_params(kernel=draw.kernel)
        tried = list(settings)
        if draw.kernel == "rbf":
            tried = [{**one, "gamma": gamma} for gamma in rbf_widths(draw) for one in settings]
        return select(machine, tried, draw, in_search)

    return fit


def _as_it_is(estimator: Any, settings: Sequence[Setting] = ({},)) -> Fit:
    """Return the fit of a method without a kernel."""
    return lambda draw: select(estimator, settings, draw)


def _on_logistic_regression(estimator: Any) -> Fit:
    """Return the fit of a method on top of a classifier: a logistic regression.

    In place of a kernel it has the features of a Nystroem map, whose width is chosen too.
    """
    settings = [{"estimator": LogisticRegression(C=cost, max_iter=2000)} for cost in COSTS]

    def fit(draw: Draw) -> tuple[Any, Setting]:
        if draw.kernel == "linear":
            model, chosen = select(estimator, settings, draw)
            return model, {"C": chosen["estimator"].C}
        found = [
            (gamma, *mapped(draw, gamma), setting)
            for gamma in rbf_widths(draw)
            for setting in settings
        ]
        scores = [
            score(clone(estimator), setting, in_features) for _, _, in_features, setting in found
        ]
        gamma, nystroem, in_features, setting = found[int(np.argmax(scores))]
        model, _ = select(estimator, [setting], in_features)
        return make_pipeline(nystroem, model), {"C": setting["estimator"].C, "gamma": gamma}

    return fit


def _by_path(estimator: Any) -> Fit:
    """Return the fit of a machine whose settings are solved from one another."""

    def fit(draw: Draw) -> tuple[Any, Setting]:
        machine = clone(estimator).set_params(kernel=draw.kernel)
        found = path_search(machine, draw.X_bagged, draw.bags, source=source_for(machine, draw))
        return found.best_estimator, found.best_params

    return fit


def _tgplm(draw: Draw) -> tuple[Any, Setting]:
    model = TGPLMCV(kernel=draw.kernel).fit(draw.X_bagged, draw.bags, source=draw.source)
    return model, model.best_params_


def _count_likelihood(draw: Draw) -> tuple[Any, Setting]:
    model = CountLikelihoodCV(kernel=draw.kernel)
    model.fit(draw.X_bagged, draw.bags, source=draw.source)
    return model, {**model.best_params_, "from": model.start_}


def _count_likelihood_alone(draw: Draw) -> tuple[Any, Setting]:
    model = CountLikelihoodCV(kernel=draw.kernel).fit(draw.X_bagged, draw.bags)
    return model, {**model.best_params_, "from": model.start_}


def _floor(draw: Draw) -> tuple[Any, Setting]:
    return supervised_svm(draw.kernel, draw.X_source, draw.y_source, draw.seed)


def _ceiling(draw: Draw) -> tuple[Any, Setting]:
    return supervised_svm(draw.kernel, draw.X_bagged, draw.y_bagged, draw.seed)


def supervised_svm(kernel: str, X: Any, y: NDArray[np.int8], seed: int) -> tuple[Any, Setting]:
    """Return the SVC of the protocol, by which floor and ceiling are set.

    Parameters
    ----------
    kernel : {"linear", "rbf"}
        The kernel.
    X : array-like of shape (n_rows, n_features)
        Rows.
    y : ndarray of shape (n_rows,)
        Their labels.
    seed : int
        Of the folds.

    Returns
    -------
    model : SVC
        Chosen by five-fold accuracy on the rows: C is 1/4, 1 or 8, gamma "scale" times 1/4, 1
        or 4.
    setting : mapping
        C and, with the RBF kernel, gamma.
    """
    grid: dict[str, list[float]] = {"C": list(COSTS)}
    n_folds = max(2, min(5, int(np.unique(y, return_counts=True)[1].min())))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    options = {"cv": folds, "refit": False, "error_score": "raise"}
    if kernel == "rbf":
        grid["gamma"] = widths_for(X)
        search = GridSearchCV(SVC(), grid, **options).fit(X, y)
    else:
        # The same machines, many times faster on sparse rows.
        gram = linear_kernel(X)
        search = GridSearchCV(SVC(kernel="precomputed"), grid, **options).fit(gram, y)
    return SVC(kernel=kernel, **search.best_params_).fit(X, y), search.best_params_


def _methods() -> list[Method]:
    tied = _grid(C_source_and_C_target=COSTS)
    costs = _grid(C=COSTS)
    penalised = _grid(C=COSTS, penalty=PENALTIES)
    coupled = _grid(C_target=BAG_COSTS, coupling=COUPLINGS)
    e = estimators
    return [
        Method(FLOOR, _floor, "source"),
        Method("SourceSVM", _by_path(e.SourceSVM()), "source"),
        Method("SourceSVM(threshold=prior)", _by_path(e.SourceSVM(threshold="prior")), "source"),
        Method("PriorShift", _on_logistic_regression(e.PriorShift()), "source"),
        Method("TSVM", _searched(e.TSVM(), tied), "source"),
        Method("TSVM(fraction=target)", _searched(e.TSVM(fraction="target"), tied), "source"),
        Method("DASVM", _searched(e.DASVM(), tied), "source"),
        Method("LWE", _as_it_is(e.LWE(), _grid(n_clusters=(2, 5, 10))), "source"),
        Method("LMPROJ", _searched(e.LMPROJ(), penalised), "source"),
        Method("DAKSVM", _searched(e.DAKSVM(), penalised, {"n_components": 300}), "source"),
        Method("TrSVM", _searched(e.TrSVM(), tied), "both"),
        Method("InverseCalibrationSVM", _by_path(e.InverseCalibrationSVM()), "bags"),
        Method("MeanMap", _searched(e.MeanMap(), costs), "bags"),
        Method("LaplacianMeanMap", _searched(e.LaplacianMeanMap(), costs), "bags"),
        Method("AlternatingMeanMap", _searched(e.AlternatingMeanMap(), costs), "bags"),
        Method("EasyLLP", _searched(e.EasyLLP(), costs), "bags"),
        Method("LLPKMeans", _as_it_is(e.LLPKMeans()), "bags"),
        Method("ProportionSVM", _searched(e.ProportionSVM(), costs, {"n_init": 2}), "both"),
        Method("BagEM", _on_logistic_regression(e.BagEM()), "both"),
        Method("BagCSI", _searched(e.BagCSI(), _grid(C_target=(16.0, 64.0, 256.0))), "both"),
        Method("ProportionMatching", _searched(e.ProportionMatching(), coupled), "both"),
        Method("TGPLMCV", _tgplm, "both"),
        Method("LSTGPLM", _searched(e.LSTGPLM(), coupled), "both"),
        Method(
            "TGPLMPlus",
            _searched(e.TGPLMPlus(), _grid(C_source_and_C_target=COSTS, coupling=(0.125, 8.0))),
            "both",
        ),
        Method("CountLikelihoodCV(no source)", _count_likelihood_alone, "bags"),
        Method("CountLikelihoodCV", _count_likelihood, "both"),
        Method(CEILING, _ceiling, "labels"),
    ]


METHODS = {method.name: method for method in _methods()}
