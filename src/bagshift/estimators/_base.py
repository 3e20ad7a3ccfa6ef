# SPDX-License-Identifier: BSD-3-Clause
"""What every classifier of the library shares: outputs, scores and tags."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import (
    _check_n_features,
    check_is_fitted,
    validate_data,
)

from bagshift.bags import Bags
from bagshift.estimators._class_scores import best_places, normalise, predicted_class_shares
from bagshift.exceptions import BagError
from bagshift.labels import explain_themselves
from bagshift.metrics import class_share_error, share_error

Floats = NDArray[np.float64]

_PRECISIONS = (np.float64, np.float32)

_OF_PROBABILITIES = ("predict_proba", "predict_proba_in_bags", "predict_in_bags")


@dataclass(slots=True)
class BagTags:
    """What a classifier can make use of.

    Attributes
    ----------
    uses_source : bool
        Learns from labelled history given as ``source``.
    needs_source : bool
        Cannot learn from bags without it.
    uses_bags : bool
        Learns from shares.
    uses_unlabelled_rows : bool
        Learns from target rows that are in no bag and have no label, more than the scales and
        the landmarks of a kernel, which are taken from all rows.
    uses_target_labels : bool
        Learns from target rows with a known label, see :meth:`bagshift.Bags.with_labels`; else
        it refuses them.
    transductive : bool
        Speaks only about the target rows it was fitted on.
    needs_target_labels : bool
        Cannot learn without such rows. TrueLabelSVM needs the label of every row, which no user
        has: it is for benchmarks only.
    """

    uses_source: bool = False
    needs_source: bool = False
    uses_bags: bool = True
    uses_unlabelled_rows: bool = False
    uses_target_labels: bool = True
    transductive: bool = False
    needs_target_labels: bool = False


@dataclass(slots=True)
class ClassifierTags(Tags):
    """scikit-learn's tags and, as ``bag_tags``, our own."""

    bag_tags: BagTags | None = None


def last_step(estimator: Any) -> Any:
    """Return the machine at the end of a Pipeline or chosen by a search, or what was given."""
    steps = getattr(estimator, "steps", None)
    inside = steps[-1][1] if steps else getattr(estimator, "best_estimator_", estimator)
    return inside if inside is estimator else last_step(inside)


def get_bag_tags(estimator: Any) -> BagTags:
    """Return the :class:`BagTags` of an estimator, or of the one inside a Pipeline or search.

    Parameters
    ----------
    estimator : estimator
        One of this library, or a Pipeline or search around one.

    Returns
    -------
    BagTags
    """
    inside = last_step(estimator)
    if not isinstance(inside, BagClassifier):
        inside = getattr(inside, "estimator", inside)
    if inside is not estimator:
        return get_bag_tags(inside)
    tags = get_tags(estimator)
    nothing = BagTags(uses_bags=False, uses_target_labels=False)
    return getattr(tags, "bag_tags", None) or nothing


def validate_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check rows as scikit-learn does: dense or CSR, numbers of either precision, all finite.

    NaN passes where the tags say so; frames with names pass as they are where a machine hands
    them on to a classifier inside.
    """
    is_named = reset or hasattr(estimator, "feature_names_in_")
    if getattr(estimator, "_hands_frames_on", False) and hasattr(X, "columns") and is_named:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if hasattr(estimator, "feature_names_in_"):
            return X
    if are_sound(X) and not hasattr(estimator, "feature_names_in_"):
        _check_n_features(estimator, X, reset=reset)
        return X
    return validate_data(estimator, X, reset=reset, **row_checks(estimator))


def are_sound(X: Any) -> bool:
    """Whether rows are an array that scikit-learn's checks have nothing to say of.

    These take longer than to solve a small problem.

    Parameters
    ----------
    X : object
        What was given as rows.

    Returns
    -------
    bool
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype not in _PRECISIONS:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(X.sum())


def row_checks(estimator: Any) -> dict[str, Any]:
    """Return what ``check_array`` is told about the rows that an estimator takes."""
    return {
        "accept_sparse": "csr",
        "dtype": list(_PRECISIONS),
        "ensure_all_finite": "allow-nan" if get_tags(estimator).input_tags.allow_nan else True,
    }


class BagClassifier(ClassifierMixin, BaseEstimator):
    """Base of all classifiers: one score per row decides label, probability and error.

    Subclasses implement ``fit`` and ``_scores`` and describe themselves in ``_bag_tags``.
    """

    # What each parameter may be, in the terms of scikit-learn; every parameter is in it.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    # Whether a classifier inside gets frames as they came, with text and names of columns.
    _hands_frames_on = False
    # Whether it learns from shares and labels of more than two classes.
    _takes_more_classes: ClassVar[bool] = False

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """Return the decision values of validated rows; (n_rows,) or (n_rows, n_classes)."""

    @abstractmethod
    def _bag_tags(self) -> BagTags:
        """Return what this classifier can make use of."""

    def _chances(self, scores: Floats) -> Floats:
        """Return chances of more than two classes from their scores, where these say as much."""
        return normalise(expit(scores), scores)

    def _check_parameters(self) -> None:
        """Refuse parameters that are not what they may be."""
        # Not by get_params, which reads the signature anew at every call: that takes longer than
        # to solve a small problem.
        given = {name: getattr(self, name) for name in self._parameter_constraints}
        validate_parameter_constraints(self._parameter_constraints, given, type(self).__name__)

    def _saved_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of fitted arrays that predictions need, but for a kernel machine's."""
        return {}

    def _machines_inside(self) -> list[Any]:
        """Return fitted classifiers that predictions need."""
        return []

    if not TYPE_CHECKING:  # where a checker would take every attribute for one that exists

        def __getattr__(self, name: str) -> Any:
            """Say what to do where there are no probabilities."""
            if name in _OF_PROBABILITIES:
                raise AttributeError(_no_probabilities(self, name))
            return object.__getattribute__(self, name)

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row; of two classes positive values mean ``classes_[1]``.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Dense or CSR rows, or a frame with the columns seen in ``fit``.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Of more than two classes there is a column for each, in the order of ``classes_``, and
            the highest one is predicted.

        Raises
        ------
        ValueError
            When columns differ from those of ``fit``, or values are missing or not finite.
        """
        return self._score_rows(X, self._scores)

    def _score_rows(self, X: Any, score: Callable[[Any], Floats]) -> Floats:
        """Validate rows, score them, and refuse scores that are not finite."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = score(X)
        if not np.all(np.isfinite(scores)):
            raise ValueError("Some features are so large that their scores are not finite.")
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label for every row; at a tie the class that stands first in ``classes_``.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[best_places(scores)])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return accuracy on labels, or 1 - share error on bags.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.
        y : labels of shape (n_rows,) or Bags
            True labels, or bags with known shares; source rows inside bags are left out.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, with labels only.

        Returns
        -------
        float
            Greater is better. On bags it is one minus the size-weighted mean of
            the absolute difference between predicted and given share, which says nothing about
            which rows of a bag are right.

        Raises
        ------
        BagError
            When a bag was cut, or no row is in a bag.
        """
        if not isinstance(y, Bags):
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if sample_weight is not None:
            raise ValueError("sample_weight goes with labels; weigh bags in Bags.from_arrays.")
        y.check_whole()
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return 1.0 - class_share_error(y, predicted_class_shares(self.classes_, scores, y))
        return 1.0 - share_error(y, is_positive(scores, flipped=is_flipped(self, y)))

    def __sklearn_tags__(self) -> ClassifierTags:
        tags = super().__sklearn_tags__()
        own = ClassifierTags(
            estimator_type=tags.estimator_type,
            target_tags=tags.target_tags,
            transformer_tags=tags.transformer_tags,
            classifier_tags=tags.classifier_tags,
            regressor_tags=tags.regressor_tags,
            array_api_support=tags.array_api_support,
            no_validation=tags.no_validation,
            non_deterministic=tags.non_deterministic,
            requires_fit=tags.requires_fit,
            _skip_test=tags._skip_test,
            input_tags=tags.input_tags,
            bag_tags=self._bag_tags(),
        )
        own.classifier_tags.multi_class = self._takes_more_classes
        own.input_tags.sparse = True
        return own


def _no_probabilities(machine: BagClassifier, name: str) -> str:
    if hasattr(machine, "probability"):
        return f"{type(machine).__name__} has {name} with probability=True only."
    return (
        f"{type(machine).__name__} has no {name}, for its scores are no log odds; fit a "
        "SigmoidCalibrator to its scores of labelled rows, or take a machine with probabilities, "
        "such as TGPLM or PriorShift."
    )


def is_flipped(estimator: Any, bags: Bags) -> bool:
    """Tell whether the shares of bags are of ``classes_[0]`` of a fitted classifier.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or Pipeline.
    bags : Bags
        Bags that may declare which class their shares are of; else it is the class that the
        estimator was fitted with, or ``classes_[1]``.

    Returns
    -------
    bool

    Raises
    ------
    BagError
        When the declared class is none of the estimator's, or neither says which class is meant.
    """
    if not hasattr(estimator, "classes_"):
        return False
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) > 2 or bags.classes is not None:
        raise BagError(
            f"This is for two classes, and there are {max(len(classes), bags.n_classes)}: fit one "
            "class against the others, with Bags.against_rest(label) and the labels of the source "
            "as True and False."
        )
    first, second = classes
    if bags.positive is None and bags.negative is None:
        machine = last_step(estimator)
        if not hasattr(machine, "positive_class_") and not explain_themselves((first, second)):
            raise BagError(
                f"It is not said which of {first!r} and {second!r} the shares are of: pass "
                "positive= to Bags.from_arrays."
            )
        return bool(getattr(machine, "positive_class_", second) == first)
    for declared in (bags.positive, bags.negative):
        if declared is not None and declared not in (first, second):
            raise BagError(
                f"The shares are declared with the class {declared!r}, but the classifier knows "
                f"{first!r} and {second!r}; declare one of these."
            )
    return bool(bags.positive == first if bags.negative is None else bags.negative == second)


def is_positive(scores: Floats, *, flipped: bool) -> NDArray[np.bool_]:
    """Tell which rows are predicted to be of the class that shares are of.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Decision values, which grow towards ``classes_[1]``.
    flipped : bool
        Whether shares are of ``classes_[0]``.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    return scores <= 0 if flipped else scores > 0


def log_odds(estimator: Any, scores: Floats) -> Floats:
    """Return decision values as log odds, undoing a machine's own scale.

    Parameters
    ----------
    estimator : estimator
        The classifier that gave the scores, or a Pipeline that ends in it.
    scores : ndarray of shape (n_rows,)
        Its decision values.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    machine = last_step(estimator)
    if isinstance(machine, SigmoidProbabilities):
        return scores / machine._score_scale()
    return scores


def keep_side(second: Floats, scores: Floats) -> Floats:
    """Return probabilities of ``classes_[1]`` on the side of one half that ``predict`` takes.

    Parameters
    ----------
    second : ndarray of shape (n_rows,)
        Sigma of the scores, which rounds the tiniest ones to one half.
    scores : ndarray of shape (n_rows,)
        Decision values or log odds.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    return np.where(scores > 0, np.maximum(second, np.nextafter(0.5, 1.0)), second)


class SigmoidProbabilities:
    """Probabilities of machines whose scores are log odds.

    A logistic machine's scores are. Inverse calibration fits scores to logit(share), so sigma of
    the score is the probability there too (methods 1.2; the paper's A = 1, B = 0).
    """

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for every row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``; the largest one is the predicted class. Of more
            than two classes it is sigma of each score, divided by the sum over the classes.
        """
        score = self.decision_function(X)  # type: ignore[attr-defined]
        if score.ndim == 2:
            return self._chances(score)
        second = keep_side(expit(log_odds(self, score)), score)
        return np.column_stack([1.0 - second, second])

    def _chances(self, scores: Floats) -> Floats:
        """Return probabilities of more than two classes from their scores."""
        return normalise(expit(log_odds(self, scores)), scores)

    def _score_scale(self) -> float:
        return 1.0
