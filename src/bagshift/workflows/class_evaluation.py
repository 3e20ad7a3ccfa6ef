# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of more than two classes against given shares and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bagshift.bags import Bags
from bagshift.class_labels import shares_by_class
from bagshift.estimators._class_scores import best_places
from bagshift.exceptions import TableError, name_some
from bagshift.fingerprints import row_fingerprints
from bagshift.metrics import class_share_error
from bagshift.persistence import SavedModel
from bagshift.workflows.class_bags import read_class_bags
from bagshift.workflows.labels import label_values
from bagshift.workflows.prediction import ModelRows, read_model_rows
from bagshift.workflows.requests import BagRequest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClassEvaluation:
    """What :func:`evaluate_classes` found.

    Attributes
    ----------
    n_rows, n_fitted_rows : int
        Rows of the file, and how many of them the model was fitted on.
    by_probability : bool
        Whether predicted shares are mean probabilities; shares of predicted labels otherwise.
    share_error, constant_share_error : float or None
        Against given shares: the share of rows that would have to change their class, and the
        same if every bag were predicted to have the overall shares.
    n_bags : int
        Bags compared.
    fresh, in_sample : float or None
        Accuracy on labelled rows that the model was not, and was, fitted on.
    n_fresh, n_in_sample : int
        How many these are.
    table : polars.DataFrame
        For every class its ``class``, ``predicted`` share, ``given`` share of the bags, and of the
        labelled rows what is right among its own (``recall``) and among those called so
        (``precision``); null where not known.
    notes : list of str
        What was done to the columns.
    """

    n_rows: int
    n_fitted_rows: int
    by_probability: bool
    share_error: float | None
    constant_share_error: float | None
    n_bags: int
    fresh: float | None
    in_sample: float | None
    n_fresh: int
    n_in_sample: int
    table: pl.DataFrame
    notes: list[str]


def evaluate_classes(
    saved: SavedModel,
    target: Path,
    *,
    bags: BagRequest | None = None,
    label: str | None = None,
) -> ClassEvaluation:
    """Compare predictions for a file with what is known about it.

    Parameters
    ----------
    saved : SavedModel
        A model of more than two classes.
    target : Path
        Rows to predict.
    bags : BagRequest, optional
        Where the shares of their bags are, with a column for each class.
    label : str, optional
        Column of true labels; rows without one are left out.

    Returns
    -------
    ClassEvaluation

    Raises
    ------
    TableError, BagError
        When the files cannot be used.
    """
    texts = (bags.bag if bags else None, label)
    rows = read_model_rows(target, saved.manifest, text_columns=texts)
    called = best_places(np.asarray(saved.model.decision_function(rows.X), dtype=np.float64))
    has_chances = hasattr(saved.model, "predict_proba")
    chances = np.eye(len(saved.manifest.classes))[called]
    if has_chances:
        chances = np.asarray(saved.model.predict_proba(rows.X), dtype=np.float64)
    was_fitted = np.isin(row_fingerprints(rows.X), saved.fitted_rows)
    given: Floats | None = None
    errors: tuple[float | None, float | None] = (None, None)
    n_bags = 0
    if bags is not None:
        if not bags.has_more_classes:
            raise TableError(
                f"The model has the classes {name_some(saved.manifest.classes)}; give "
                "--share-column or --count-column once for each, with columns named as the "
                "classes."
            )
        known = read_class_bags(bags, rows.table, list(saved.manifest.classes))
        given, errors, n_bags = _against_shares(known, chances, saved.manifest.classes)
    truth = None if label is None else _places(rows, label, saved.manifest.classes)
    fresh, in_sample = (_accuracy(truth, called, fitted) for fitted in (~was_fitted, was_fitted))
    return ClassEvaluation(
        n_rows=rows.X.height,
        n_fitted_rows=int(was_fitted.sum()),
        by_probability=has_chances,
        share_error=errors[0],
        constant_share_error=errors[1],
        n_bags=n_bags,
        fresh=fresh[0],
        in_sample=in_sample[0],
        n_fresh=fresh[1],
        n_in_sample=in_sample[1],
        table=_table(saved.manifest.classes, chances, given, truth, called),
        notes=list(rows.notes),
    )


def _against_shares(
    bags: Bags, chances: Floats, classes: tuple[Any, ...]
) -> tuple[Floats, tuple[float, float], int]:
    labels = np.array(classes)
    shares = shares_by_class(bags, labels)
    own = [classes.index(label) for label in bags.classes or ()]
    overall = np.average(shares, axis=0, weights=bags.sizes)
    same = np.tile(overall[own], (bags.n_bags, 1))
    errors = (
        class_share_error(bags, bags.bag_means(chances)[:, own]),
        class_share_error(bags, same),
    )
    return overall, errors, bags.n_bags


def _places(rows: ModelRows, label: str, classes: tuple[Any, ...]) -> NDArray[np.intp]:
    """Return the place of the true class of every row, -1 where it is not known."""
    values = label_values(rows.table, label)
    as_text = {str(known): place for place, known in enumerate(classes)}
    found = values.drop_nulls().unique().sort().to_list()
    strangers = [value for value in found if str(value) not in as_text]
    if strangers or not found:
        held = name_some(strangers) if strangers else "no label"
        raise TableError(
            f"Column {label!r} of {rows.table.name} holds {held}; the model knows "
            f"{name_some(classes)}."
        )
    places = [-1 if value is None else as_text[str(value)] for value in values.to_list()]
    return np.array(places, dtype=np.intp)


def _accuracy(
    truth: NDArray[np.intp] | None, called: NDArray[np.intp], rows: NDArray[np.bool_]
) -> tuple[float | None, int]:
    if truth is None:
        return None, 0
    known = rows & (truth >= 0)
    n_known = int(known.sum())
    return (float(np.mean(truth[known] == called[known])) if n_known else None), n_known


def _table(
    classes: tuple[Any, ...],
    chances: Floats,
    given: Floats | None,
    truth: NDArray[np.intp] | None,
    called: NDArray[np.intp],
) -> pl.DataFrame:
    def share(of: NDArray[np.bool_], right: NDArray[np.bool_]) -> float | None:
        return float(right[of].mean()) if of.any() else None

    own: list[float | None] = [None] * len(classes)
    so = list(own)
    if truth is not None:
        for place in range(len(classes)):
            right = truth == called
            own[place] = share(truth == place, right)
            so[place] = share((called == place) & (truth >= 0), right)
    return pl.DataFrame(
        {
            "class": [str(label) for label in classes],
            "predicted": chances.mean(axis=0),
            "given": [None] * len(classes) if given is None else given,
            "recall": own,
            "precision": so,
        },
        schema_overrides=dict.fromkeys(("given", "recall", "precision"), pl.Float64),
    )
