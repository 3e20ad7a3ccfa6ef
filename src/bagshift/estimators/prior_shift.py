# SPDX-License-Identifier: BSD-3-Clause
r"""A classifier of the source, corrected to the known prior of the target.

Under *label shift* the classes look alike in both domains, :math:`P_t(x \mid y) = P_s(x \mid y)`,
and only their shares differ. Bayes' rule then gives the target's probabilities from those of the
source [1]_,

.. math::

    P_t(y \mid x) \propto P_s(y \mid x)\,\frac{\pi_t(y)}{\pi_s(y)},
    \qquad
    f_t(x) = f_s(x) + \mathrm{logit}\,\pi_t - \mathrm{logit}\,\pi_s

with :math:`f` the log odds and :math:`\pi` the share of one class. Methods of label shift estimate
:math:`\pi_t`; here it is known, from the shares of the bags. Of a row inside a bag more is known,
the share :math:`p_k` of its own bag, which may take the place of :math:`\pi_t`.

References
----------
.. [1] M. Saerens, P. Latinne, C. Decaestecker. Adjusting the outputs of a classifier to new a
   priori probabilities: a simple procedure. Neural Computation 14(1), 2002.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
)

from bagshift.bags import Bags
from bagshift.calibration import clip_levels, clip_shares
from bagshift.estimators._any_classifier import (
    given_or_default,
    log_odds_of,
    name_of,
    require_classifier,
    set_input_tags,
    trained,
)
from bagshift.estimators._base import (
    BagClassifier,
    BagTags,
    ClassifierTags,
    SigmoidProbabilities,
    is_flipped,
    keep_side,
)
from bagshift.estimators._in_bags import InBagPosteriors
from bagshift.estimators._training import TrainingData, read_training, require_one_history
from bagshift.exceptions import BagError
from bagshift.metrics import overall_share

Floats = NDArray[np.float64]


class PriorShift(SigmoidProbabilities, InBagPosteriors, BagClassifier):
    r"""Any classifier of labelled history, with the prior of the target in place of its own.

    The least that can be done with shares beside a source: one number, the overall share of the
    target, moves every log odds by the same amount. The formula stands in the module
    :mod:`bagshift.estimators.prior_shift`.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A scikit-learn classifier with ``predict_proba``, or a Pipeline that ends in one; scaling
        belongs into it. None is logistic regression on the columns as they are. Its
        probabilities are taken at their word: calibrate it first where they are not calibrated.
        It gets frames with named columns as they came, and other rows as a matrix of numbers; NaN
        is handed on where the classifier takes it, and to a Pipeline. A search over
        ``estimator__C`` and the like needs an estimator here, not None. Weights go to the last
        step of a Pipeline and to a StandardScaler in it.
    target_prior : float or None, default=None
        Share of the positive class in the target, strictly between 0 and 1; None takes the
        overall share of the bags.
    source_prior : float or None, default=None
        Share of the positive class that the classifier's probabilities go by; None takes that of
        the source rows, by their weights. A classifier with ``class_weight="balanced"`` goes by
        0.5, whatever the source.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    estimator_ : classifier
        The fitted classifier; its classes are 0 for ``classes_[0]`` and 1 for ``classes_[1]``.
    source_prior_, target_prior_ : float
        Share of the positive class before and after the correction.
    shift_ : ndarray of shape (1,)
        What is added to the log odds of ``classes_[1]``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    SourceSVM : With ``threshold="prior"``, the same idea for a machine without probabilities.
    CountLikelihoodClassifier : Learns from the number of every bag, not from the overall share.

    Notes
    -----
    Only right as far as the classes look alike in both domains, which no share can tell. A prior
    of 0 or 1 from bags is moved inside by half a row.

    Rows in bags: ``predict_proba_at_prior(X, bags)`` puts the share of a bag in the place of the
    prior, as if its members were drawn at that rate. ``predict_proba_in_bags(X, bags)`` takes the
    number of the bag as a fact about its members, so that probabilities add up to it; for exact
    numbers it does not depend on any prior, for a shift common to all rows of a bag cancels.

    With plain labels and no source it is the classifier itself, or the classifier corrected to
    `target_prior`.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker. Adjusting the outputs of a classifier to new a priori
    probabilities: a simple procedure. Neural Computation 14(1), 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, PriorShift
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2  # half of the history is positive
    >>> history = rng.normal(size=(400, 1)) + 2.0 * y[:, None], y
    >>> labels = (rng.random(300) < 0.1).astype(int)  # but about one in ten of the target
    >>> X = rng.normal(size=(300, 1)) + 2.0 * labels[:, None]
    >>> bag_ids = np.repeat(np.arange(10), 30)
    >>> counts = dict(enumerate(np.bincount(bag_ids, labels)))
    >>> machine = PriorShift().fit(X, Bags.from_arrays(bag_ids, counts=counts), source=history)
    >>> machine.source_prior_, bool(machine.target_prior_ == labels.mean())
    (0.5, True)
    >>> bool(machine.score(X, labels) > 0.9 > machine.estimator_.score(X, labels))
    True
    """

    _hands_frames_on = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "target_prior": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "source_prior": [Interval(Real, 0.0, 1.0, closed="neither"), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        target_prior: float | None = None,
        source_prior: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.target_prior = target_prior
        self.source_prior = source_prior

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the classifier on the source, and read the prior of the target.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags, array-like of shape (n_rows,) or None
            Bags of the rows; plain labels train the classifier on these rows; None goes with
            `target_prior`.
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
            When a bag was cut.
        ValueError
            When the arguments do not fit together, or the classifier cannot be used.
        """
        self._check_parameters()
        data = read_training(self, X, y, source=source, sample_weight=sample_weight)
        self._check(data)
        rows = data.source_as_labelled() if data.n_source else data
        self.classes_ = data.classes
        self.positive_class_ = data.positive
        self.estimator_ = trained(
            given_or_default(self.estimator),
            _safe_indexing(rows.X_target, rows.labelled_rows),
            (rows.labelled_signs > 0).astype(np.intp),
            rows.labelled_weight,
        )
        self.source_prior_ = self._source_prior(rows)
        self.target_prior_ = self._target_prior(data)
        before, after = self._of_second(self.source_prior_), self._of_second(self.target_prior_)
        self.shift_ = np.array([logit(after) - logit(before)])
        return self

    def _check(self, data: TrainingData) -> None:
        """Refuse a classifier that cannot do what is asked, and data that say too little."""
        classifier = given_or_default(self.estimator)
        require_classifier(classifier)
        if not hasattr(classifier, "predict_proba"):
            raise ValueError(
                f"{name_of(classifier)} has no predict_proba, and a prior corrects "
                "probabilities; take another classifier, or put this one into "
                "CalibratedClassifierCV."
            )
        require_one_history(data, "PriorShift")
        if data.n_source and not data.bags.n_bags and self.target_prior is None:
            raise ValueError(
                "PriorShift needs a prior of the target: bags with shares as y, or target_prior=."
            )

    def _source_prior(self, rows: TrainingData) -> float:
        if self.source_prior is not None:
            return float(self.source_prior)
        second = np.average(rows.labelled_signs > 0, weights=rows.labelled_weight)
        return float(self._of_second(second))

    def _target_prior(self, data: TrainingData) -> float:
        if self.target_prior is not None:
            return float(self.target_prior)
        if not data.bags.n_bags:
            return self.source_prior_
        margin = 0.5 / float(data.bags.sizes.sum())
        return float(np.clip(overall_share(data.bags), margin, 1.0 - margin))

    def predict_proba_at_prior(self, X: Any, prior: Any) -> Floats:
        """Return the probability of each class for every row, at a prior of its own.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.
        prior : float, array-like of shape (n_rows,) or Bags of length n_rows
            Share of the positive class among the rows that a row was drawn from, strictly between
            0 and 1. With bags it is the share of the row's own bag, kept half an individual (at
            most 1/4) away from 0 and 1; for rows in no bag it is ``target_prior_``.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns in the order of ``classes_``.

        Raises
        ------
        BagError
            When `prior` is bags of another length, or of a class that the machine does not know.
        ValueError
            When a prior is not strictly between 0 and 1.
        """
        scores = self.decision_function(X)
        own = self._of_second(self.target_prior_)
        if isinstance(prior, Bags):
            given = self._priors_in_bags(prior, len(scores))
        else:
            given = self._of_second(np.asarray(prior, dtype=np.float64))
        if given.shape not in ((), scores.shape) or not np.all((given > 0) & (given < 1)):
            raise ValueError(
                "prior must be one share strictly between 0 and 1, or one for each of the "
                f"{len(scores)} rows, or their Bags."
            )
        moved = scores + logit(given) - logit(own)
        second = keep_side(expit(moved), moved)
        return np.column_stack([1.0 - second, second])

    def _of_second(self, share: Any) -> Any:
        """Turn a share of the positive class into one of ``classes_[1]``, and back."""
        return 1.0 - share if self.positive_class_ == self.classes_[0] else share

    def _priors_in_bags(self, bags: Bags, n_rows: int) -> Floats:
        """Return the share of ``classes_[1]`` in every row's own bag."""
        if len(bags) != n_rows:
            raise BagError(f"X has {n_rows} rows but the bags describe {len(bags)} rows.")
        levels = clip_levels("bag", sizes=bags.sizes, n_rows=n_rows)
        shares = clip_shares(bags.clipped_shares, levels)
        if is_flipped(self, bags):
            shares = 1.0 - shares
        priors = np.full(n_rows, self._of_second(self.target_prior_))
        rows = bags.rows_in_bags()
        priors[rows] = shares[bags.bag_index[rows]]
        return priors

    def _scores(self, X: Any) -> Floats:
        return log_odds_of(self.estimator_, X) + float(self.shift_[0])

    def _saved_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"shift_": (1,)}

    def _machines_inside(self) -> list[Any]:
        return [self.estimator_]

    def _bag_tags(self) -> BagTags:
        return BagTags(
            uses_source=True,
            needs_source=True,
            uses_bags=self.target_prior is None,
            uses_target_labels=False,
        )

    def __sklearn_tags__(self) -> ClassifierTags:
        tags = super().__sklearn_tags__()
        set_input_tags(tags.input_tags, self.estimator)
        return tags
