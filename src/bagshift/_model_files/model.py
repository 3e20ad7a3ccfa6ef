# SPDX-License-Identifier: BSD-3-Clause
"""What may be saved and is read back: a fitted classifier, alone or at the end of a Pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from bagshift._model_files.faults import Fault, first_line
from bagshift._model_files.machine import check_machine
from bagshift.estimators._base import BagClassifier
from bagshift.exceptions import name_some
from bagshift.model_selection._search_cv import BagSearchCV

MOST_COLUMNS = 10**7
# Modules of steps that take a table.
READ_TABLES = ("bagshift.features", "bagshift.scale.prepared_columns")
OUTPUTS = ("decision_function", "predict", "predict_proba")


def machine_of(model: Any) -> Any:
    """Return the classifier of a model, and refuse what is none.

    Parameters
    ----------
    model : object
        Anything.

    Returns
    -------
    BagClassifier
        Fitted, as is every step before it.

    Raises
    ------
    Fault
        When it is no classifier of bagshift and no Pipeline that ends in one, is not fitted, or
        has a cache.
    """
    *steps, machine = _steps(model)
    if not isinstance(machine, BagClassifier):
        raise Fault(f"{_name(model)} is no classifier of bagshift{_ends_in(model, machine)}")
    for step in [*steps, machine]:
        try:
            if isinstance(step, BaseEstimator):
                check_is_fitted(step)
        except NotFittedError as error:
            raise Fault(f"the {type(step).__name__} in it is not fitted; call fit") from error
    return machine


def check_model(model: Any, papers: Any) -> None:
    """Raise when a model could not predict, or is not what its papers say.

    Parameters
    ----------
    model : estimator
        A model that was fitted or built from a file.
    papers : Manifest
        What it is said to be.

    Raises
    ------
    Fault
    """
    try:
        machine = machine_of(model)
        check_machine(machine)
        if isinstance(machine, BagSearchCV):
            _check_search(machine)
        _check_inside(machine)
        _compare(model, machine, papers)
        _predict_one_row(model, machine, papers.columns)
    except Fault:
        raise
    except Exception as error:  # a file made to break may break anything
        raise Fault(f"its model cannot predict ({first_line(error)})") from error


def _check_search(search: BagSearchCV) -> None:
    """Check the machine that a search asks when it predicts."""
    machine = search.best_estimator_
    if not isinstance(machine, search._machine_class):
        raise Fault(f"its best_estimator_ is {_name(machine)}")
    check_machine(machine)
    if (
        machine.n_features_in_ != search.n_features_in_
        or machine.classes_.tolist() != search.classes_.tolist()
        or _typed(positive_of(machine)) != _typed(positive_of(search))
        or hasattr(machine, "support_vectors_") != hasattr(search, "support_vectors_")
    ):
        raise Fault("its best_estimator_ has other columns, classes or rows than the model")


def _check_inside(machine: BagClassifier) -> None:
    """Check the classifiers that a machine asks when it predicts."""
    for inside in machine._machines_inside():
        *_, last = _steps(inside)
        check_is_fitted(last)
        if inside.n_features_in_ != machine.n_features_in_:
            raise Fault(f"{_name(last)} in it takes other columns than the model")
        if isinstance(last, BagClassifier):
            check_machine(last)
            _check_inside(last)


def plain(value: Any) -> Any:
    """Turn a label, or what else JSON does not know, into what it does.

    Parameters
    ----------
    value : object
        Such as a NumPy scalar.

    Returns
    -------
    str, int, float or bool
    """
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool) else str(value)


def _steps(model: Any) -> Iterator[Any]:
    """Yield the steps of a Pipeline and of those inside it, or the model itself."""
    if not isinstance(model, Pipeline):
        yield model
        return
    if model.memory is not None:
        raise Fault(
            "its Pipeline has memory=, a cache that is a folder of pickles; set it to None"
        )
    if not model.steps:
        raise Fault("its Pipeline has no steps")
    for _, step in model.steps:
        yield from _steps(step)


def _name(model: Any) -> str:
    if model is None:
        return "None"
    name = type(model).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _ends_in(model: Any, machine: Any) -> str:
    if machine is not model:
        return f", as it ends in {_name(machine)}"
    if isinstance(getattr(model, "best_estimator_", None), BagClassifier | Pipeline):
        return "; take its best_estimator_"
    return " and no Pipeline that ends in one"


def _compare(model: Any, machine: Any, papers: Any) -> None:
    said, found = ([_typed(c) for c in classes] for classes in (papers.classes, machine.classes_))
    if said != found:
        raise Fault(
            f"its manifest names the classes {name_some(map(plain, papers.classes))} and the "
            f"model has {name_some(machine.classes_)}"
        )
    positive = positive_of(machine)
    if _typed(papers.positive) != _typed(positive):
        raise Fault(
            f"its manifest names {papers.positive!r} as the positive class and the model "
            f"has {positive!r}"
        )
    if hasattr(machine, "support_vectors_") and not papers.holds_training_rows:
        raise Fault("its manifest says that no training rows are inside, and there are some")
    _compare_columns(model, list(papers.columns))


def positive_of(machine: Any) -> Any:
    """Return the positive class of two.

    Parameters
    ----------
    machine : estimator

    Returns
    -------
    str, int, float, bool or None
        None where there are more classes, or none was found.
    """
    positive = getattr(machine, "positive_class_", None)
    return None if positive is None else plain(positive)


def _typed(label: Any) -> tuple[type, Any]:
    """Keep 1, 1.0 and True apart."""
    label = label if label is None else plain(label)
    return type(label), label


def _compare_columns(model: Any, columns: Sequence[str]) -> None:
    if not columns:
        return
    n_columns = model.n_features_in_
    if n_columns != len(columns):
        raise Fault(
            f"its manifest lists {len(columns):,} columns and the model takes {n_columns:,}"
        )
    names = getattr(model, "feature_names_in_", columns)
    if list(names) != columns:
        raise Fault("its manifest lists other columns than the model takes")


def _predict_one_row(model: Any, machine: Any, columns: Mapping[str, Any]) -> None:
    """Predict a row without values, by the whole model where it is known what a row is."""
    row = _row(model, columns)
    whole = model if row is not None else machine
    row = _zeros(machine) if row is None else row
    with warnings.catch_warnings():
        # A row without values may well hold an unknown category.
        warnings.simplefilter("ignore")
        for output in OUTPUTS:
            if hasattr(whole, output):
                getattr(whole, output)(row)


def _row(model: Any, columns: Mapping[str, Any]) -> Any:
    *steps, _ = _steps(model)
    if steps and columns and type(steps[0]).__module__ in READ_TABLES:
        import polars as pl

        from bagshift.columns import STORED_AS

        return pl.DataFrame(
            {name: pl.Series([None], dtype=STORED_AS[kind]) for name, kind in columns.items()}
        )
    return _zeros(model) if all(map(_takes_numbers, steps)) else None


def _zeros(model: Any) -> np.typing.NDArray[np.float64]:
    if model.n_features_in_ not in range(1, MOST_COLUMNS + 1):
        raise Fault(f"it takes {model.n_features_in_!r} columns, which no model does")
    return np.zeros((1, model.n_features_in_))


def _takes_numbers(step: Any) -> bool:
    if isinstance(step, SimpleImputer):
        return bool(step.statistics_.dtype.kind == "f")
    return isinstance(step, StandardScaler)
