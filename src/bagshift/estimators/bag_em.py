# SPDX-License-Identifier: BSD-3-Clause
r"""Expectation-maximisation around any classifier: guess the labels of bags, train, guess again.

A classifier of scikit-learn is trained on guessed labels of the rows of bags, and the labels are
guessed anew from what it says, until they stay. There are two ways to guess, and the two are
different methods.

``labels="counts"`` is *hard* expectation-maximisation. In every bag :math:`S_k` the
:math:`c_k = \mathrm{round}(p_k |S_k|)` rows with the highest scores become positive
(:mod:`bagshift.estimators._exact_counts`), and the classifier is trained on these labels. With
a support vector machine, ``start="majority"`` and no more, it is the method that the Python
package llp-learn calls EM, after [1]_; there it stops when the number of labels that change is
nearly that of the round before, here when no label changes. With a classifier that minimises a sum
of hinge or logistic losses and a penalty, no step raises that sum, for the labels are the
best under the counts.

``labels="posterior"`` is expectation-maximisation proper. The probabilities
:math:`\sigma(f_j)` of the classifier and the published number of a bag give the probability
:math:`r_j = P(y_j = 1 \mid \text{published})` of each of its rows, exactly, by Bayes' rule
(:mod:`bagshift.solvers.count_likelihood`); every row is then trained on with both labels, weighted
by :math:`r_j` and :math:`1 - r_j`. Noise laws of bags are part of that rule. With a classifier of
maximum likelihood the likelihood of the published numbers never falls.

First labels:

* ``start="majority"``: all rows of a bag get the label that more than half of them have; bags at
  one half have no such label and are left out of the first training. Where all bags lie on one
  side of one half, their shares are compared with the overall share instead (this is ours).
* ``start="source"``: the classifier is trained on labelled history, and labels are guessed from
  what it says. The history plays no further part.

Labelled target rows keep their label throughout.

References
----------
.. [1] G. Comarela et al. Assessing candidate preference through web browsing history. KDD 2018.
   Not seen; the method was read off the package llp-learn 1.6.0.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
)

from bagshift.estimators._any_classifier import (
    given_or_default,
    log_odds_of,
    name_of,
    ranks_of,
    require_classifier,
    set_input_tags,
    trained,
    weight_parameters,
)
from bagshift.estimators._base import (
    BagClassifier,
    BagTags,
    ClassifierTags,
)
from bagshift.estimators._label_guesses import (
    ONE_CLASS,
    CountLabels,
    PosteriorLabels,
    majority_labels,
)
from bagshift.estimators._optional_probabilities import OptionalProbabilities
from bagshift.estimators._training import TrainingData, read_training, require_two_classes
from bagshift.exceptions import BagWarning, plural, warn_caller

Floats = NDArray[np.float64]


class BagEM(OptionalProbabilities, BagClassifier):
    r"""Any classifier, trained by turns with the labels that the counts of bags allow.

    Which two methods this is stands in the module :mod:`bagshift.estimators.bag_em`.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A scikit-learn classifier with ``decision_function`` or ``predict_proba``, or a Pipeline
        that ends in one; scaling belongs into it. None is logistic regression on the columns as
        they are. It gets frames with named columns as they came, and other rows as a
        matrix of numbers; NaN is handed on where the classifier takes it, and to a Pipeline. A
        search over ``estimator__C`` and the like needs an estimator here, not None. Weights go to
        the last step of a Pipeline and to a StandardScaler in it.
    labels : {"counts", "posterior"}, default="counts"
        "counts" labels the rows with the highest scores of every bag as positive, as many as its
        share says. "posterior" trains on both labels of every row, weighted by their probability
        given the number published for the bag; it needs ``predict_proba`` and ``sample_weight``.
    start : {"auto", "majority", "source"}, default="auto"
        Where the first labels come from: the majority of each bag, or the classifier trained on
        labelled history. "auto" is "source" where there is one, else "majority".
    max_iter : int, default=500
        Largest number of times that the classifier is trained on labels of bags.
    tol : float, default=1e-3
        Largest change of a probability at which ``labels="posterior"`` stops; labels by counts
        stop when none changes.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    estimator_ : classifier
        The fitted classifier; its classes are 0 for ``classes_[0]`` and 1 for ``classes_[1]``.
    start_ : str
        Where the first labels came from; empty when all labels are known.
    n_iter_ : int
        How many times the classifier was trained on labels of bags.
    changes_ : ndarray of shape (n_rounds,)
        Number of labels that changed after each training, or the largest change of a probability.
    log_likelihoods_ : ndarray of shape (n_rounds,)
        With ``labels="posterior"``, the log-likelihood of the published numbers after each
        training, weighted by the bags' weights.
    converged_ : bool
        Whether the labels settled.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    CountLikelihoodClassifier : The likelihood that "posterior" climbs, optimised directly, with
        several starts, and with the history in it.
    ProportionSVM : Labels and support vector machine by turns, with annealing and several starts.

    Notes
    -----
    What is found depends on the first labels. Rows in no bag and without a label are not used.
    ``decision_function`` is the log odds where the classifier has probabilities, else its own.
    A classifier that repeats its training labels settles at once, and nothing is learned but the
    start: deep trees, forests of them, and boosting do this with ``labels="counts"``. Give them
    large leaves (``min_samples_leaf``), or take a smoother classifier; a BagWarning says it.

    A model file holds classifiers of bagshift's own list only (logistic regression, naive Bayes,
    and Pipelines of these with scalers and imputers): :func:`bagshift.persistence.save_model`
    refuses a machine with any other inside.

    References
    ----------
    The package llp-learn 1.6.0, whose EM with a majority start is ``labels="counts"``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from bagshift import BagEM, Bags
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(400) < np.repeat(rng.random(50), 8)  # never shown to the machine
    >>> X = rng.normal(size=(400, 2)) + 2.0 * labels[:, None]
    >>> bag_ids = np.repeat(np.arange(50), 8)
    >>> shares = {k: labels[bag_ids == k].mean() for k in range(50)}
    >>> machine = BagEM(SVC()).fit(X, Bags.from_arrays(bag_ids, shares))
    >>> bool(machine.score(X, labels.astype(int)) > 0.9)
    True
    """

    _hands_frames_on = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "labels": [StrOptions({"counts", "posterior"})],
        "start": [StrOptions({"auto", "majority", "source"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        labels: str = "counts",
        start: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-3,
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        self.start = start
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the classifier on labels that agree with the bags.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows; plain labels train the classifier and no more.
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
            When a bag was cut, or its number is impossible.
        ValueError
            When the arguments do not fit together, or the classifier cannot be used.

        Warns
        -----
        ConvergenceWarning
            When the labels did not settle.
        BagWarning
            When the classifier gives back any labels that it is trained on, so that the first
            guess stood.
        """
        self._check_parameters()
        given = read_training(self, X, y, source=source, sample_weight=sample_weight)
        self._check(given)
        for name in ("estimator_", "log_likelihoods_"):
            if hasattr(self, name):
                delattr(self, name)
        self.classes_ = given.classes
        self.positive_class_ = given.positive
        self._alternate(given)
        return self

    # Training -----------------------------------------------------------------------------

    def _check(self, data: TrainingData) -> None:
        """Refuse a classifier that cannot do what is asked, and data that say too little."""
        classifier = given_or_default(self.estimator)
        name = name_of(classifier)
        require_classifier(classifier)
        scores = hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")
        if not scores:
            raise ValueError(
                f"{name} has neither decision_function nor predict_proba, so its rows cannot be "
                "put in order; take another classifier."
            )
        if self.labels == "posterior":
            lacks = [] if hasattr(classifier, "predict_proba") else ["predict_proba"]
            lacks += [] if weight_parameters(classifier) else ["sample_weight"]
            if lacks:
                raise ValueError(
                    f'labels="posterior" needs {" and ".join(lacks)}, which {name} does not have; '
                    'take labels="counts", or another classifier.'
                )
        if not data.n_target_units:
            raise ValueError("BagEM needs bags or labelled rows of the target; y holds none.")
        require_two_classes(data)
        if self.start == "source" and not data.n_source and data.bags.n_bags:
            raise ValueError('start="source" needs labelled history; give it as source=(X, y).')
        if self.start == "majority" and data.n_source:
            raise ValueError(
                'start="majority" makes no use of a source; leave it out, or take start="source".'
            )

    def _alternate(self, data: TrainingData) -> None:
        """Train and guess by turns, from the first labels on."""
        guesses = (PosteriorLabels if self.labels == "posterior" else CountLabels).of(data)
        rows = _safe_indexing(data.X_target, guesses.rows)
        labels = self._first_labels(data, guesses)
        score = log_odds_of if self.labels == "posterior" else ranks_of
        threshold = self.tol if self.labels == "posterior" else 0.0
        changes: list[float] = []
        likelihoods: list[float] = []
        # Hashes: labels of many rows and rounds would fill the memory.
        earlier = {hash(labels.tobytes())}
        while len(changes) < self.max_iter:
            self.estimator_ = self._trained(rows, labels, guesses.weight)
            guess, likelihood = guesses.guess(score(self.estimator_, rows), labels)
            changes.append(guesses.change(labels, guess))
            likelihoods.append(likelihood)
            labels, mark = guess, hash(guess.tobytes())
            is_circle = mark in earlier
            if is_circle or changes[-1] <= threshold:
                break
            earlier.add(mark)
        self.n_iter_, self.changes_ = len(changes), np.array(changes)
        self.converged_ = changes[-1] <= threshold
        if self.labels == "posterior":
            self.log_likelihoods_ = np.array(likelihoods)
        if not self.converged_:
            self._complain(is_circle)
        elif self.start_ and self.labels == "counts":
            self._look_for_learning(rows, labels, guesses)

    def _first_labels(self, data: TrainingData, guesses: CountLabels | PosteriorLabels) -> Floats:
        """Return the labels to begin from; NaN for rows to be left out of the first training."""
        self.start_ = ""
        if not data.bags.n_bags:
            return np.asarray(majority_labels(data)[guesses.rows])
        if self.start == "majority" or not data.n_source:
            self.start_ = "majority"
            return np.asarray(majority_labels(data)[guesses.rows])
        self.start_ = "source"
        is_second = (data.source_signs > 0).astype(np.float64)
        X_source = _as_kind_of(data.X_target, data.X_source)
        machine = self._trained(X_source, is_second, data.source_weight)
        score = log_odds_of if self.labels == "posterior" else ranks_of
        rows = _safe_indexing(data.X_target, guesses.rows)
        return guesses.guess(score(machine, rows), np.full(rows.shape[0], 0.5))[0]

    def _trained(self, X: Any, labels: Floats, weight: Floats) -> Any:
        """Return the classifier trained on labels in [0, 1]; NaN leaves a row out."""
        second, first = np.flatnonzero(labels > 0), np.flatnonzero(labels < 1)
        rows = np.concatenate([second, first])
        is_second = np.repeat([1, 0], [len(second), len(first)])
        weight = weight[rows] * np.concatenate([labels[second], 1.0 - labels[first]])
        if len(rows) == np.count_nonzero(~np.isnan(labels)):
            # Whole labels: rows keep their order, which some classifiers depend on.
            order = np.argsort(rows)
            rows, is_second, weight = rows[order], is_second[order], weight[order]
        if not 0 < is_second.sum() < len(rows):
            raise ValueError(ONE_CLASS)
        classifier = given_or_default(self.estimator)
        return trained(classifier, _safe_indexing(X, rows), is_second, weight)

    def _look_for_learning(self, rows: Any, labels: Floats, guesses: Any) -> None:
        """Warn when labels settled at once and would have, whatever they were."""
        # The labels of majorities are no labels by counts yet.
        if self.n_iter_ > (2 if self.start_ == "majority" else 1):
            return
        others = guesses.guess(np.random.default_rng(0).random(len(labels)), labels)[0]
        if np.array_equal(others, labels):
            return
        machine = self._trained(rows, others, guesses.weight)
        if guesses.change(guesses.guess(ranks_of(machine, rows), others)[0], others):
            return
        warn_caller(
            f"{name_of(machine)} gives back any labels that it is trained on, so that those of "
            "rows in bags stayed as first guessed; take a classifier with more regularisation, "
            "such as trees with larger leaves (min_samples_leaf).",
            BagWarning,
        )

    def _complain(self, is_circle: bool) -> None:
        """Warn that the labels did not settle."""
        rounds = plural(self.n_iter_, "round")
        warn_caller(
            f"The labels of rows in bags were again those of an earlier round after {rounds}, and "
            "go in a circle; take a classifier with more regularisation."
            if is_circle
            else f"The labels of rows in bags had not settled after {rounds}; set a higher "
            "max_iter.",
            ConvergenceWarning,
        )

    # Predictions --------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        has_probabilities = hasattr(self.estimator_, "predict_proba")
        return (log_odds_of if has_probabilities else ranks_of)(self.estimator_, X)

    def _has_probabilities(self) -> bool:
        inside = getattr(self, "estimator_", given_or_default(self.estimator))
        return hasattr(inside, "predict_proba")

    def _machines_inside(self) -> list[Any]:
        return [self.estimator_]

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=self.start != "majority", needs_source=self.start == "source")

    def __sklearn_tags__(self) -> ClassifierTags:
        tags = super().__sklearn_tags__()
        set_input_tags(tags.input_tags, self.estimator)
        return tags


def _as_kind_of(like: Any, X: Any) -> Any:
    """Return rows dense or sparse, as others are; some classifiers score only what they know."""
    if sparse.issparse(like):
        return sparse.csr_array(X)
    return X.toarray() if sparse.issparse(X) else X
