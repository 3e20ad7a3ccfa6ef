# SPDX-License-Identifier: BSD-3-Clause
"""Training data of more than two classes, and each class of them against all the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.class_columns import two_columns
from bagshift.bags import Bags
from bagshift.class_labels import (
    distinct_labels,
    resolve_all_classes,
    shares_by_class,
    warn_of_unknown_classes,
)
from bagshift.estimators._given_training import GivenTraining, is_pairwise, read_given
from bagshift.estimators._scale import warn_if_scales_differ
from bagshift.estimators._training import TrainingData, binary_training

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class ClassTraining:
    """Validated training data of one fit with more than two classes.

    Units are numbered source rows first, then bags, then labelled target rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        All classes, sorted as scikit-learn expects.
    X_source, X_target : matrix of shape (n_source, n_features), (n_target, n_features) or None
        Features of the two domains.
    source_codes : ndarray of shape (n_source,)
        Place of the label of each source row among the classes.
    source_weight : ndarray of shape (n_source,)
        Factors on the loss of each source row.
    bags : Bags
        The bags of the target rows; may hold no bag at all.
    class_shares : ndarray of shape (n_bags, n_classes)
        Share of every class in every bag, in the order of `classes`.
    labelled_rows : ndarray of shape (n_labelled,)
        Positions of the target rows whose label is known.
    labelled_codes, labelled_weight : ndarray of shape (n_labelled,)
        Places of their labels among the classes, and factors on their loss.
    column_order : ndarray or None
        For a precomputed kernel: which column of the given matrix each training row is, source
        rows first.
    """

    classes: NDArray[Any]
    X_source: Any
    X_target: Any
    source_codes: Places
    source_weight: Floats
    bags: Bags
    class_shares: Floats
    labelled_rows: Places
    labelled_codes: Places
    labelled_weight: Floats
    column_order: Places | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_source(self) -> int:
        """Number of source rows."""
        return len(self.source_codes)

    @property
    def n_target_units(self) -> int:
        """Number of bags and labelled target rows together."""
        return self.bags.n_bags + len(self.labelled_rows)

    @cached_property
    def unit_of_row(self) -> Places:
        """Target unit that each target row belongs to, -1 for none; shape (n_target,)."""
        return self.against_rest(0).unit_of_row

    @property
    def row_weight(self) -> Floats:
        """Weight of every row, source rows first; shape (n_source + n_target,)."""
        return self.against_rest(0).row_weight

    def against_rest(self, place: int) -> TrainingData:
        """Return the data with one class against all the others.

        Parameters
        ----------
        place : int
            Place of the class among `classes`.

        Returns
        -------
        TrainingData
            Its classes are False and True; True is the class.
        """
        return TrainingData(
            classes=np.array([False, True]),
            positive=True,
            X_source=self.X_source,
            X_target=self.X_target,
            source_signs=_signs(self.source_codes, place),
            source_weight=self.source_weight,
            bags=self._bags_against_rest(self.class_shares[:, place]),
            labelled_rows=self.labelled_rows,
            labelled_signs=_signs(self.labelled_codes, place),
            labelled_weight=self.labelled_weight,
            column_order=self.column_order,
        )

    def _bags_against_rest(self, shares: Floats) -> Bags:
        # Labels are in the units; single rows keep None here.
        return replace(
            self.bags,
            shares=two_columns(shares),
            classes=None,
            positive=True,
            negative=False,
        )

    def each_against_rest(self) -> list[TrainingData]:
        """Return the data of every class against all the others, in the order of `classes`."""
        return [self.against_rest(place) for place in range(self.n_classes)]


def read_classes(
    estimator: Any, X: Any, y: Any, *, source: Any = None, sample_weight: Any = None
) -> TrainingData | ClassTraining:
    """Validate the arguments of ``fit`` of an estimator for any number of classes.

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
    TrainingData or ClassTraining
        The first for two classes.

    Raises
    ------
    ValueError
        When the arguments do not fit together or hold values that cannot be used.
    """
    given = read_given(estimator, X, y, source=source, sample_weight=sample_weight)
    labels = given.labels
    if labels is not None and len(np.unique(labels)) > 2:
        return _of_labels(given, labels)
    if labels is None and len(distinct_labels(given.source_labels, given.bags)) > 2:
        return _of_domains(estimator, given)
    return binary_training(estimator, given)


def _of_labels(given: GivenTraining, labels: NDArray[Any]) -> ClassTraining:
    """Plain labels: every row is a labelled target row."""
    classes, codes = np.unique(labels, return_inverse=True)
    return ClassTraining(
        classes=classes,
        X_source=None,
        X_target=given.X_target,
        source_codes=np.empty(0, dtype=np.intp),
        source_weight=np.empty(0),
        bags=given.bags,
        class_shares=np.empty((0, len(classes))),
        labelled_rows=np.arange(len(labels)),
        labelled_codes=codes.astype(np.intp),
        labelled_weight=np.ones(len(labels)) if given.weight is None else given.weight,
        column_order=given.column_order,
    )


def _of_domains(estimator: Any, given: GivenTraining) -> ClassTraining:
    """Bags, with a source or without one."""
    bags = given.bags
    classes = resolve_all_classes(given.source_labels, bags)
    labelled = np.flatnonzero(bags.has_label)
    warn_of_unknown_classes(classes, given.counted_source_labels, bags)
    if given.source_labels is not None and not is_pairwise(estimator):
        warn_if_scales_differ(given.X_source, given.X_target)
    return ClassTraining(
        classes=classes,
        X_source=given.X_source,
        X_target=given.X_target,
        source_codes=_codes(given.source_labels, classes),
        source_weight=given.source_weight,
        bags=bags,
        class_shares=shares_by_class(bags, classes),
        labelled_rows=labelled,
        labelled_codes=_codes(bags.label_values[labelled], classes),
        labelled_weight=bags.row_weights[labelled].astype(np.float64),
        column_order=given.column_order,
    )


def _codes(labels: Any, classes: NDArray[Any]) -> Places:
    """Return the places of labels among the classes."""
    if labels is None:
        return np.empty(0, dtype=np.intp)
    place = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([place[label] for label in labels.tolist()], dtype=np.intp)


def _signs(codes: Places, place: int) -> Floats:
    return np.where(codes == place, 1.0, -1.0)
