# SPDX-License-Identifier: BSD-3-Clause
r"""Any machine of two classes, once for each of several classes against all the others.

With :math:`P_{kc}` the share of class :math:`c` in bag :math:`k`, machine :math:`c` learns from
the shares :math:`P_{kc}` and the labels :math:`[y_i = c]`, and the class with the highest score is
predicted. It is scikit-learn's OneVsRestClassifier for shares of groups: that one cuts a matrix of
labels into columns, and knows neither bags nor a source.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed

from bagshift.bags import Bags
from bagshift.class_labels import against_rest, distinct_labels, resolve_all_classes
from bagshift.estimators._any_classifier import set_input_tags
from bagshift.estimators._base import (
    BagClassifier,
    BagTags,
    ClassifierTags,
    get_bag_tags,
    last_step,
    validate_rows,
)
from bagshift.estimators._class_scores import normalise
from bagshift.estimators._optional_probabilities import OptionalProbabilities
from bagshift.estimators.tgplm import TGPLM

Floats = NDArray[np.float64]


def _offers_them(machine: Any) -> bool:
    return bool(machine._has_probabilities())


class OneVsRestBagClassifier(OptionalProbabilities, BagClassifier):
    """One machine of two classes for each class against all the others.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A machine of this package, a search, or a Pipeline that ends in one; None is TGPLM.
        Machines that know several classes themselves share more work between them.
    n_jobs : int or None, default=None
        Classes that are trained at the same time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All classes, sorted.
    estimators_ : list of estimator
        The fitted machine of each class, of the classes False and True; of two classes there is
        one, of these classes.
    positive_class_ : label
        The class that shares are of, of two classes only.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    TGPLM : Knows several classes itself, and computes the kernel once for all of them.
    CountLikelihoodClassifier : The likelihood of the counts of all classes together.

    Notes
    -----
    Scores of machines that were trained apart are compared, so they should be on one scale, such
    as log odds; ``predict_proba`` divides the probabilities of the classes by their sum. A class
    that the source has no row of is trained without the source, where the machine can be.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, OneVsRestBagClassifier, ProportionSVM
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(3, size=240)  # never shown to the machine
    >>> X = rng.normal(size=(240, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[codes]
    >>> ids = np.repeat(np.arange(40), 6)
    >>> shares = {k: np.bincount(codes[ids == k], minlength=3) / 6 for k in range(40)}
    >>> bags = Bags.from_arrays(ids, shares, classes=["bear", "cat", "dog"])
    >>> machine = OneVsRestBagClassifier(ProportionSVM()).fit(X, bags)
    >>> bool(machine.score(X, np.array(["bear", "cat", "dog"])[codes]) > 0.8)
    True
    """

    _hands_frames_on = True
    _takes_more_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_jobs": [None, Integral],
    }

    def __init__(self, estimator: Any = None, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train a machine for each class.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags, array-like of shape (n_rows,) or None
            What the machine takes, with any number of classes.
        source : tuple, optional
            ``(X, y)`` or ``(X, y, sample_weight)``: labelled history with the same columns.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the loss of each row, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        BagError
            When the classes of shares and labels do not fit together.
        ValueError
            When the machine refuses what it is given, or the source lacks a class that the
            machine needs it for.
        """
        self._check_parameters()
        machine = TGPLM() if self.estimator is None else self.estimator
        classes = _classes_of(y, source)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        if len(classes) <= 2:
            given = {} if source is None else {"source": source}
            self._keep([clone(machine).fit(X, y, **given, **weight)], None)
        else:
            parts = [_against_rest(machine, y, source, label) for label in classes.tolist()]
            fitted = Parallel(n_jobs=self.n_jobs)(
                delayed(_fitted)(clone(machine), X, of_class, {**given, **weight})
                for of_class, given in parts
            )
            self._keep(list(fitted), classes)
        validate_rows(self, X, reset=True)
        return self

    def _keep(self, machines: list[Any], classes: NDArray[Any] | None) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.estimators_ = machines
        if classes is not None:
            self.classes_ = classes
            return
        inside = last_step(machines[0])
        self.classes_ = inside.classes_
        if hasattr(inside, "positive_class_"):
            self.positive_class_ = inside.positive_class_

    # Predictions --------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        scores = [each.decision_function(X) for each in self.estimators_]
        return np.asarray(scores[0] if len(scores) == 1 else np.column_stack(scores))

    def _has_probabilities(self) -> bool:
        fitted = getattr(self, "estimators_", None)
        inside = fitted[0] if fitted else (TGPLM() if self.estimator is None else self.estimator)
        return hasattr(inside, "predict_proba")

    @available_if(_offers_them)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for every row, where the machines have them.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``; the largest one is the predicted class.
        """
        scores = self.decision_function(X)
        chances = [each.predict_proba(X) for each in self.estimators_]
        if scores.ndim == 1:
            return np.asarray(chances[0], dtype=np.float64)
        return normalise(np.column_stack([each[:, 1] for each in chances]), scores)

    def _machines_inside(self) -> list[Any]:
        return list(self.estimators_)

    def _bag_tags(self) -> BagTags:
        return get_bag_tags(TGPLM() if self.estimator is None else self.estimator)

    def __sklearn_tags__(self) -> ClassifierTags:
        tags = super().__sklearn_tags__()
        set_input_tags(tags.input_tags, TGPLM() if self.estimator is None else self.estimator)
        return tags


def _fitted(machine: Any, X: Any, y: Any, given: dict[str, Any]) -> Any:
    return machine.fit(X, y, **given)


def _classes_of(y: Any, source: Any) -> NDArray[Any]:
    """Return all classes; of two the machine itself finds out which they are."""
    labels = source[1] if isinstance(source, tuple) and len(source) > 1 else None
    if y is None or isinstance(y, Bags):
        bags = Bags.unlabelled(0) if y is None else y
        if len(distinct_labels(labels, bags)) <= 2:
            return np.empty(2)
        return resolve_all_classes(labels, bags)
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        return np.empty(2)
    try:
        is_of_more = labels.ndim == 1 and type_of_target(labels) == "multiclass"
    except ValueError:
        is_of_more = False  # and the machine says why
    return np.unique(labels) if is_of_more else np.empty(2)


def _against_rest(machine: Any, y: Any, source: Any, label: Any) -> tuple[Any, dict[str, Any]]:
    """Return bags or labels, and a source, of one class against all the others."""
    if y is not None and not isinstance(y, Bags):
        return np.asarray(y) == label, {}
    bags = None if y is None else against_rest(y, label)
    if bags is not None and bags.is_source.any():
        has_class = bool(np.any(bags.label_values[bags.is_source] == np.True_))
        if has_class:
            return bags, {}
        _require_no_source(machine, label)
        # Without labelled history, rows of the source are target rows of no bag.
        return _without_source(bags), {}
    if source is None:
        return bags, {}
    is_label = np.asarray(source[1]) == label
    if is_label.any():
        return bags, {"source": (source[0], is_label, *source[2:])}
    _require_no_source(machine, label)
    return bags, {}


def _require_no_source(machine: Any, label: Any) -> None:
    if get_bag_tags(machine).needs_source:
        raise ValueError(
            f"{type(last_step(machine)).__name__} needs rows of every class in the source, which "
            f"has none of {label!r}; leave that class out, or take a machine that learns from "
            "shares."
        )


def _without_source(bags: Bags) -> Bags:
    nothing = np.full(len(bags), None, dtype=object)
    return replace(
        bags,
        label_values=np.where(bags.is_source, nothing, bags.label_values),
        is_source=np.zeros(len(bags), dtype=bool),
    )
