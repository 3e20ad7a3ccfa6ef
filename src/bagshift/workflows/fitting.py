# SPDX-License-Identifier: BSD-3-Clause
"""From what was read to a fitted model that can be saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bagshift.bags import Bags
from bagshift.estimators import (
    TGPLM,
    CountLikelihoodClassifier,
    InverseCalibrationSVM,
    SourceSVM,
)
from bagshift.estimators._class_scores import class_places, predicted_class_shares
from bagshift.estimators._guesses import guess
from bagshift.exceptions import TableError
from bagshift.features import feature_pipeline
from bagshift.fingerprints import row_fingerprints
from bagshift.metrics import class_share_error, constant_share_error
from bagshift.model_selection import BagKFold, path_search
from bagshift.persistence import Manifest, SavedModel, describe_model
from bagshift.workflows.count_fit import CountFit, count_fit
from bagshift.workflows.inputs import FitInputs
from bagshift.workflows.requests import MachineRequest

MACHINES: dict[str, type[Any]] = {
    "count-likelihood": CountLikelihoodClassifier,
    "tgplm": TGPLM,
    "ic-svm": InverseCalibrationSVM,
    "svm": SourceSVM,
}
MOST_FOLDS = 10
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class FitOutcome:
    """A fitted model and how it did.

    Attributes
    ----------
    saved : SavedModel
        What a model file holds.
    settings : dict
        Settings of the machine.
    n_settings : int
        How many settings were compared.
    by_probability : bool
        Whether predicted shares are mean probabilities; shares of predicted labels otherwise.
    held_out_share_error : float or None
        Mean share error on bags that were held out, with these settings; None with one bag.
    share_error : float
        Share error on the bags the model was fitted on.
    constant_share_error : float
        Share error if every bag were predicted to have the overall share.
    held_out_counts : CountFit or None
        How likely the numbers of held-out bags were; None for methods that are not judged by it.
    """

    saved: SavedModel
    settings: dict[str, Any]
    n_settings: int
    by_probability: bool
    held_out_share_error: float | None
    share_error: float
    constant_share_error: float
    held_out_counts: CountFit | None


def fit_model(
    inputs: FitInputs, request: MachineRequest, progress: Progress | None = None
) -> FitOutcome:
    """Encode the columns of both domains, choose settings and fit.

    Parameters
    ----------
    inputs : FitInputs
        What was read.
    request : MachineRequest
        Method, search and given settings.
    progress : callable, optional
        Called with (done, total) while settings are compared.

    Returns
    -------
    FitOutcome

    Raises
    ------
    TableError
        When the method needs history and there is none, or has no such setting.
    """
    machine = _machine(inputs, request)
    features = feature_pipeline()
    X, source = _encode(inputs, features, machine)
    fitted, n_settings, best = _search(machine, X, inputs, source, request, progress)
    # The other machines are searched by the shares of their labels.
    by_probability = isinstance(fitted, CountLikelihoodClassifier)
    errors = _errors_in_sample(fitted, X, inputs.bags, by_probability)
    outcome: dict[str, Any] = {
        "settings": settings_of(fitted, has_source=source is not None),
        "n_settings": n_settings,
        "by_probability": by_probability,
        "held_out_share_error": best.get("share_error"),
        "share_error": errors[0],
        "constant_share_error": errors[1],
        "held_out_counts": None,
    }
    if best and by_probability and inputs.bags.classes is None:
        outcome["held_out_counts"] = count_fit(inputs.bags, best["score"])
    saved = SavedModel(
        model=Pipeline([*features.steps, ("machine", fitted)]),
        manifest=_manifest(inputs, request, fitted, outcome),
        fitted_rows=row_fingerprints(inputs.X_target),
    )
    return FitOutcome(saved=saved, **outcome)


def _errors_in_sample(
    fitted: Any, X: NDArray[Any], bags: Bags, by_probability: bool
) -> tuple[float, float]:
    """Return the share errors of the machine, and of the overall shares alone."""
    if bags.classes is None:
        guesses = guess(fitted, X, fitted.positive_class_)
        in_sample = guesses.share_error if by_probability else guesses.labelled_share_error
        return in_sample(bags), constant_share_error(bags)
    scores = fitted.decision_function(X)
    places = class_places(fitted.classes_, bags)
    shares = (
        bags.bag_means(fitted.predict_proba(X))[:, places]
        if by_probability
        else predicted_class_shares(fitted.classes_, scores, bags)
    )
    overall = np.average(bags.shares, axis=0, weights=bags.sizes)
    return class_share_error(bags, shares), class_share_error(
        bags, np.tile(overall, (bags.n_bags, 1))
    )


def _machine(inputs: FitInputs, request: MachineRequest) -> Any:
    machine = MACHINES[request.method]()
    if request.method == "svm" and inputs.X_source is None:
        raise TableError("The method svm learns from labelled history; give it with --source.")
    known = machine.get_params()
    for name in request.parameters:
        if name not in known:
            raise TableError(f"The method {request.method} has no setting {name}.")
    return machine.set_params(**request.parameters)


def _encode(
    inputs: FitInputs, features: Pipeline, machine: Any
) -> tuple[NDArray[Any], tuple[NDArray[Any], NDArray[Any]] | None]:
    """Fit the encoding on both domains; return target features and the source if it is used."""
    if inputs.X_source is None or inputs.labels is None:
        return features.fit_transform(inputs.X_target), None
    stacked = features.fit_transform(pl.concat([inputs.X_source, inputs.X_target]))
    n_source = inputs.X_source.height
    if isinstance(machine, InverseCalibrationSVM):
        return stacked[n_source:], None
    return stacked[n_source:], (stacked[:n_source], inputs.labels.values)


def _search(
    machine: Any,
    X: NDArray[Any],
    inputs: FitInputs,
    source: tuple[Any, Any] | None,
    request: MachineRequest,
    progress: Progress | None,
) -> tuple[Any, int, dict[str, Any]]:
    """Return the fitted machine, how many settings were compared, and how the best one did."""
    bags = inputs.bags
    if bags.n_bags < 2:
        return clone(machine).fit(X, bags, source=source), 1, {}
    found = path_search(
        machine,
        X,
        bags,
        source=source,
        grid={} if request.search == "none" else request.search,
        fixed=request.parameters,
        cv=_folds(bags.n_bags, request.seed),
        progress=progress,
    )
    return found.best_estimator, len(found.table), found.table[found.best_index]


def _folds(n_bags: int, seed: int | None) -> Any:
    """Return folds for a given seed; without one, the library's own choice."""
    if seed is None:
        return None
    return BagKFold(min(MOST_FOLDS, n_bags), shuffle=True, random_state=seed)


def settings_of(machine: Any, has_source: bool) -> dict[str, Any]:
    """Return the settings that were chosen, with what the machine made of words among them.

    Parameters
    ----------
    machine : classifier
        Fitted.
    has_source : bool
        Whether there was history.

    Returns
    -------
    dict
    """
    names = ("C", "C_source", "C_target", "coupling", "kernel", "threshold")
    parameters = machine.get_params()
    settings = {name: parameters[name] for name in names if parameters.get(name) is not None}
    if not has_source and "C" not in settings:
        del settings["C_source"], settings["coupling"]
    settings["kernel"] = machine.kernel_.name
    if machine.kernel_.name != "linear":
        settings["gamma"] = float(machine.kernel_.gamma)
    if hasattr(machine, "start_"):
        settings["start"] = machine.start_
    return settings


def precision_of(machine: Any) -> dict[str, float]:
    """Return how exactly the problem was solved, by the measure that the solver has.

    Parameters
    ----------
    machine : classifier
        Fitted.

    Returns
    -------
    dict of str to float
    """
    return {
        name: float(np.max(getattr(machine, f"{name}_")))  # the worst of several classes
        for name in ("dual_gap", "gradient_norm")
        if hasattr(machine, f"{name}_")
    }


def _manifest(
    inputs: FitInputs, request: MachineRequest, machine: Any, outcome: dict[str, Any]
) -> Manifest:
    bags, asked, counts = inputs.bags, inputs.request, outcome["held_out_counts"]
    return replace(
        describe_model(machine),
        method=request.method,
        columns=dict(inputs.columns.kinds),
        bag_column=asked.bags.bag,
        id_column=asked.id_column,
        label_column=asked.label,
        fit={
            "n_target_rows": inputs.X_target.height,
            "n_bags": bags.n_bags,
            "n_source_rows": 0 if inputs.X_source is None else inputs.X_source.height,
            "ignored_columns": dict(inputs.columns.ignored),
            "noise": asked.bags.noise.as_dict() if asked.bags.noise else None,
            "search": request.search,
            "seed": request.seed,
            "n_iterations": int(machine.n_iter_),
            "converged": bool(machine.converged_),
            **precision_of(machine),
            **outcome,
            "held_out_counts": asdict(counts) if counts else None,
        },
    )
