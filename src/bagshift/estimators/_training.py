# SPDX-License-Identifier: BSD-3-Clause
"""Read what ``fit`` was given into the units that the machines learn from.

A *unit* is one term of the loss: a labelled source row, a bag (through the mean of its rows'
features) or a labelled target row. Everything after this module sees units only.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift.bags import Bags
from bagshift.estimators._advice import who_is_positive
from bagshift.estimators._given_training import GivenTraining, is_pairwise, one_class, read_given
from bagshift.estimators._scale import warn_if_scales_differ
from bagshift.exceptions import BagError
from bagshift.labels import (
    resolve_classes,
    warn_if_flipped,
    warn_uninformative,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingData:
    """Validated training data of one fit.

    Units are numbered source rows first, then bags, then labelled target rows.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        Both classes, sorted as scikit-learn expects; scores grow towards the second.
    positive : label
        The class that shares are of.
    X_source, X_target : matrix of shape (n_source, n_features), (n_target, n_features) or None
        Features of the two domains.
    source_signs : ndarray of shape (n_source,)
        Labels of the source rows, -1 or +1.
    source_weight : ndarray of shape (n_source,)
        Factors on the loss of each source row.
    bags : Bags
        The bags of the target rows; may hold no bag at all.
    labelled_rows : ndarray of shape (n_labelled,)
        Positions of the target rows whose label is known.
    labelled_signs, labelled_weight : ndarray of shape (n_labelled,)
        Their labels, -1 or +1, and factors on their loss.
    column_order : ndarray or None
        For a precomputed kernel: which column of the given matrix each training row is, source
        rows first.
    """

    classes: NDArray[Any]
    positive: Any
    X_source: Any
    X_target: Any
    source_signs: Floats
    source_weight: Floats
    bags: Bags
    labelled_rows: NDArray[np.intp]
    labelled_signs: Floats
    labelled_weight: Floats
    column_order: NDArray[np.intp] | None = None

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return len(self.source_signs)

    @property
    def knows_both_classes(self) -> bool:
        """Whether labelled rows of either domain, of a positive weight, are of both classes."""
        signs = np.concatenate(
            [self.source_signs * self.source_weight, self.labelled_signs * self.labelled_weight]
        )
        return bool(signs.min(initial=0.0) < 0 < signs.max(initial=0.0))

    @property
    def source_contrasts(self) -> bool:
        """Whether source rows that count are of both classes."""
        signs = self.source_signs * self.source_weight
        return bool(signs.min(initial=0.0) < 0 < signs.max(initial=0.0))

    @property
    def is_flipped(self) -> bool:
        """Whether shares are of the first class, so that low scores are positive ones."""
        return bool(self.classes[0] == self.positive)

    @property
    def shares(self) -> Floats:
        """Share of ``classes[1]`` in every bag; shape (n_bags,)."""
        return self.bags.shares[:, 0 if self.is_flipped else 1]

    @property
    def n_target_units(self) -> int:
        """Number of bags and labelled target rows together."""
        return self.bags.n_bags + len(self.labelled_rows)

    @cached_property
    def unit_of_row(self) -> NDArray[np.intp]:
        """Target unit that each target row belongs to, -1 for none; shape (n_target,)."""
        units = self.bags.bag_index.astype(np.intp)
        units[self.labelled_rows] = self.bags.n_bags + np.arange(len(self.labelled_rows))
        return units

    @property
    def row_weight(self) -> Floats:
        """Weight of every row, source rows first; shape (n_source + n_target,)."""
        target = np.ones(len(self.bags))
        target[self.labelled_rows] = self.labelled_weight
        return np.concatenate([self.source_weight, target])

    def target_rows(self, rows: NDArray[np.intp]) -> Any:
        """Return target rows with their columns as a fitted machine expects them."""
        X = self.X_target[rows]
        return X if self.column_order is None else X[:, np.argsort(self.column_order)]

    def entries(self) -> dict[str, Any]:
        """Return the attributes that all training data have, to make richer ones of them."""
        return {entry.name: getattr(self, entry.name) for entry in fields(TrainingData)}

    def source_as_labelled(self) -> TrainingData:
        """Return the source alone, as the labelled rows of an ordinary supervised machine."""
        nothing = np.empty(0)
        return replace(
            self,
            X_source=None,
            X_target=self.X_source,
            source_signs=nothing,
            source_weight=nothing,
            bags=Bags.unlabelled(self.n_source),
            labelled_rows=np.arange(self.n_source),
            labelled_signs=self.source_signs,
            labelled_weight=self.source_weight,
        )

    def without_source(self) -> TrainingData:
        """Return the target alone."""
        nothing = np.empty(0)
        return replace(self, X_source=None, source_signs=nothing, source_weight=nothing)


def read_training(
    estimator: Any, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
) -> TrainingData:
    """Validate the arguments of ``fit`` and sort them into units.

    Parameters
    ----------
    estimator : BagClassifier
        Receives ``n_features_in_`` and ``feature_names_in_``.
    X : matrix of shape (n_rows, n_features)
        Target rows, or source and target rows stacked by :func:`bagshift.stack_domains`.
    y : Bags, labels of shape (n_rows,) or None
        Bags of the rows; plain labels make an ordinary supervised problem.
    source : tuple, optional
        ``(X, y)`` or ``(X, y, sample_weight)`` of labelled history.
    sample_weight : array-like of shape (n_rows,), optional
        Only together with plain labels.

    Returns
    -------
    TrainingData

    Raises
    ------
    ValueError
        When the arguments do not fit together or hold values that cannot be used.
    """
    given = read_given(estimator, X, y, source=source, sample_weight=sample_weight)
    return binary_training(estimator, given)


def binary_training(estimator: Any, given: GivenTraining) -> TrainingData:
    """Sort what was given into units of two classes.

    Parameters
    ----------
    estimator : BagClassifier
    given : GivenTraining

    Returns
    -------
    TrainingData

    Raises
    ------
    ValueError
        When there are more or fewer classes, or it is not said which of them is positive.
    """
    if given.labels is not None:
        return _of_labels(given, given.labels)
    return _of_domains(estimator, given)


def require_one_history(data: TrainingData, name: str) -> None:
    """Raise unless labels of both classes come from one place.

    Parameters
    ----------
    data : TrainingData
    name : str
        The machine that learns labels from the source, or from labelled target rows without one.

    Raises
    ------
    ValueError
    """
    if data.n_source and len(data.labelled_rows):
        raise ValueError(
            f"{name} learns labels from the source alone; put labelled target rows into source=."
        )
    if not data.knows_both_classes:
        raise ValueError(
            f"{name} needs labelled history of both classes; give it as source=(X, y)."
        )


def signs_of(labels: ArrayLike, classes: NDArray[Any]) -> Floats:
    """Return +1 where a label is ``classes[1]``, -1 elsewhere."""
    return np.where(np.asarray(labels) == classes[1], 1.0, -1.0)


def _of_labels(given: GivenTraining, y: NDArray[Any]) -> TrainingData:
    """Plain labels: every row is a labelled target row."""
    classes = np.unique(y)
    nothing = np.empty(0)
    return TrainingData(
        classes=classes,
        positive=classes[1],
        X_source=None,
        X_target=given.X_target,
        source_signs=nothing,
        source_weight=nothing,
        bags=given.bags,
        labelled_rows=np.arange(len(y)),
        labelled_signs=signs_of(y, classes),
        labelled_weight=np.ones(len(y)) if given.weight is None else given.weight,
        column_order=given.column_order,
    )


def _of_domains(estimator: Any, given: GivenTraining) -> TrainingData:
    """Bags, with a source or without one."""
    bags, labels = given.bags, given.source_labels
    if bags.classes is not None:
        name = type(estimator).__name__
        if getattr(estimator, "_takes_more_classes", False):
            raise BagError(
                f"This is for two classes, and these bags have {bags.n_classes}: take one class "
                "against the others, with Bags.against_rest(label) and the labels of the source "
                "as True and False."
            )
        raise BagError(
            f"{name} learns two classes, and these bags have {bags.n_classes}: wrap it in "
            f"OneVsRestBagClassifier({name}()), or take a machine of several classes, such as "
            "CountLikelihoodClassifier or TGPLM."
        )
    classes = resolve_classes(labels, bags)
    positive = classes[1]
    classes = np.sort(classes)
    if labels is None:
        source_signs = np.empty(0)
    else:
        source_signs = signs_of(labels, classes)
        if len(np.unique(source_signs[given.source_weight > 0])) < 2:
            raise ValueError("Source rows with a positive weight hold fewer than two classes.")
        if not is_pairwise(estimator):
            warn_if_scales_differ(given.X_source, given.X_target)
    has_label = bags.has_label
    data = TrainingData(
        classes=classes,
        positive=positive,
        X_source=given.X_source,
        X_target=given.X_target,
        source_signs=source_signs,
        source_weight=given.source_weight,
        bags=bags,
        labelled_rows=np.flatnonzero(has_label),
        labelled_signs=labelled_signs(bags, classes),
        labelled_weight=bags.row_weights[has_label].astype(np.float64),
        column_order=given.column_order,
    )
    _warn(data, who_is_positive(estimator))
    return data


def labelled_signs(bags: Bags, classes: NDArray[Any]) -> Floats:
    """Return +1 or -1 for every row whose label is known, in their order.

    Parameters
    ----------
    bags : Bags
        Rows, of which some have a label.
    classes : ndarray of shape (2,)
        Both classes.

    Returns
    -------
    ndarray of shape (n_labelled,)

    Raises
    ------
    ValueError
        When a label is none of the classes.
    """
    labels = bags.label_values[bags.has_label]
    unknown = sorted({repr(label) for label in labels if label not in classes})
    if unknown:
        first, second = classes.tolist()
        raise ValueError(
            f"Labelled rows hold {', '.join(unknown)}, which is none of the classes {first!r} and "
            f"{second!r}."
        )
    return signs_of(labels, classes)


def require_two_classes(data: TrainingData) -> None:
    """Raise when known labels of one class are all there is, without bags and without a source.

    Parameters
    ----------
    data : TrainingData

    Raises
    ------
    ValueError
    """
    if not data.n_source and not data.bags.n_bags and len(set(data.labelled_signs)) == 1:
        raise ValueError(one_class(data.classes.tolist()[int(data.labelled_signs[0] > 0)]))


def _warn(data: TrainingData, from_where: str) -> None:
    if data.bags.n_bags:
        warn_uninformative(data.bags, from_where)
        # Of one class against all others it was said which shares are whose.
        if data.n_source and data.bags.positive is not True:
            rate = float(np.mean(data.source_signs > 0))
            warn_if_flipped(1 - rate if data.is_flipped else rate, data.bags)
