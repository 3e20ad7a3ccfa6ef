# SPDX-License-Identifier: BSD-3-Clause
r"""LWE, the locally weighted ensemble: which model is believed is decided near each row.

Several models :math:`M_1, \dots, M_r` are trained on labelled history. A row :math:`x` of the
target is classified by

.. math::

    P(y \mid x) = \sum_i w_{i,x}\, P(y \mid x, M_i), \qquad
    w_{i,x} = \frac{s_i(x)}{\sum_l s_l(x)},

where :math:`s_i(x)` says how far the model agrees, around :math:`x`, with the clusters of the
target, for rows of one dense region tend to share their label. With :math:`V_T(x)` the other
target rows in the cluster of :math:`x` and :math:`V_i(x)` the other target rows that
:math:`M_i` gives the label of :math:`x`,

.. math::

    s_i(x) = \frac{2\,|V_T(x) \cap V_i(x)|}{|V_T(x)| + |V_i(x)|}
    \quad\text{or}\quad
    s_i(x) = \frac{|V_T(x) \cap V_i(x)|}{|V_T(x)|},

the first for ``neighbourhood="global"``, the second for "cluster", where :math:`V_i` is looked for
inside the cluster. Both depend only on the cluster of :math:`x` and on its label under
:math:`M_i`, so counts of rows by cluster and label are all that is needed; no graph is built.

The steps:

1. The models are trained on the source.
2. The source is clustered. If its clusters are less pure in their labels than a limit, clusters
   say little about labels: all weights are :math:`1/r`, and that is all.
3. The target is clustered.
4. Rows whose mean :math:`s_i(x)` over the models reaches :math:`\delta` are decided as above.
5. Each other row gets the mean of :math:`P(y \mid x')` over the decided rows of its cluster, or,
   where there is none, the plain mean over the models.

The method is that of [1]_, of which only the abstract was seen; the formulas are written down
from memory of the literature. Whether :math:`V_i` is meant over all rows or inside the cluster,
the threshold, the limit on purity and the number of clusters of the original are not certain. Its
limit may have been 0.5, which purity of two classes cannot miss; ours is 0.75, since weights from
clusters that mix the classes did far worse than equal ones. The original speaks of the target rows
at hand only. To predict new rows is this library's extension: a new row is treated as a row of the
target that lies in the nearest cluster and has its labels.

References
----------
.. [1] J. Gao, W. Fan, J. Jiang, J. Han. Knowledge transfer via multiple model local structure
   mapping. KDD 2008.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import has_fit_parameter

from bagshift.estimators._base import BagClassifier, BagTags, SigmoidProbabilities
from bagshift.estimators._clusters import (
    cluster_centers,
    nearest,
    require_rows_for_clusters,
    to_unit_length,
)
from bagshift.estimators._feature_space import ColumnScale, column_scale, standardize
from bagshift.estimators._in_bags import InBagPosteriors, logit_of_columns
from bagshift.estimators._neighbourhoods import consistency, labels_of, purity
from bagshift.estimators._source_models import named_models
from bagshift.estimators._training import TrainingData, read_training, require_one_history

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_N_INIT = 5


class LWE(SigmoidProbabilities, InBagPosteriors, BagClassifier):
    r"""Ensemble of source models, weighted row by row by how they fit the target's clusters.

    Learns from labelled history and unlabelled target rows; shares of bags are not used. The
    method stands in the module :mod:`bagshift.estimators.lwe`.

    Parameters
    ----------
    models : list of (str, classifier) or None, default=None
        Names and scikit-learn classifiers with ``predict_proba``, trained on the source. None is
        logistic regression, a linear and an RBF support vector machine, both with scores
        calibrated by Platt's sigmoid, and naive Bayes: Gaussian for dense rows, multinomial for
        sparse rows without negative values (other sparse rows have none, nor have source rows
        that are all alike).
    n_clusters : int, default=2
        Clusters of the target, and of the source where purity is looked at; no more than either
        has rows. The default is the number of classes; up to 10 are worth a try.
    neighbourhood : {"global", "cluster"}, default="global"
        Whether rows of the same label under a model are counted everywhere or inside the cluster.
    delta : float, default=0.5
        Rows with a mean agreement :math:`\bar s(x)` below it follow the decided rows of their
        cluster. 0 decides every row by its weights.
    purity_limit : float, default=0.75
        Least purity of the source's clusters, `purity_`, at which the weights are used; below it
        all models count alike. With two classes purity is at least 0.5, so that 0.5 or less
        always uses the weights. The default is ours.
    clustering : {"k-means", "spherical"}, default="k-means"
        "spherical" compares directions: rows are brought to unit length first, as is usual for
        text.
    standardize : {"auto", True, False}, default="auto"
        Whether to centre and scale the columns of both domains together, for models and clusters
        alike. "auto" does so for dense rows when the largest standard deviation of a column is
        more than a hundred times the middle one, or the centres of the columns lie far apart.
    random_state : int or RandomState, default=0
        Of k-means.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    models_ : dict of str to classifier
        The fitted models; their classes are 0 for ``classes_[0]`` and 1 for ``classes_[1]``.
    transduction_ : ndarray of shape (n_target,)
        Labels of the target rows that were fitted on; those that ``predict`` gives them.
    purity_ : float
        Share of source rows whose label is that of most rows of their cluster.
    is_weighted_ : bool
        Whether purity reached its limit, so that the weights are used.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres of the target's clusters, of standardised and unit-length rows where that applies.
    consistency_ : ndarray of shape (n_models, n_clusters, 2)
        :math:`s_i(x)` of a row in each cluster with each label under each model.
    cluster_probability_ : ndarray of shape (n_clusters, 2)
        Mean probability of each class over the decided rows of each cluster; zeros without any.
    is_sparse_ : bool
        Whether the models were trained on sparse rows.
    feature_center_, feature_scale_ : ndarray of shape (n_features,)
        Centre and spread of the columns, where they were standardised.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    SourceSVM : One model of the source, whatever the target looks like.
    LMPROJ : Brings the domains together instead of choosing among models.

    Notes
    -----
    ``decision_function`` is the log odds of the probability. Weights of source rows go to the
    models; rows are counted one by one.

    References
    ----------
    J. Gao, W. Fan, J. Jiang, J. Han. Knowledge transfer via multiple model local structure
    mapping. KDD 2008. Seen as an abstract only.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from bagshift import LWE
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> history = rng.normal(size=(200, 2)) + 3.0 * y[:, None]
    >>> X = rng.normal(size=(200, 2)) + 3.0 * y[:, None] + [1.0, -1.0]
    >>> models = [("bayes", GaussianNB()), ("neighbours", KNeighborsClassifier(9))]
    >>> machine = LWE(models).fit(X, None, source=(history, y))
    >>> bool(machine.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "models": [list, None],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "neighbourhood": [StrOptions({"global", "cluster"})],
        "delta": [Interval(Real, 0.0, 1.0, closed="both")],
        "purity_limit": [Interval(Real, 0.0, 1.0, closed="both")],
        "clustering": [StrOptions({"k-means", "spherical"})],
        "standardize": [StrOptions({"auto"}), "boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        models: list[tuple[str, Any]] | None = None,
        *,
        n_clusters: int = 2,
        neighbourhood: str = "global",
        delta: float = 0.5,
        purity_limit: float = 0.75,
        clustering: str = "k-means",
        standardize: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.models = models
        self.n_clusters = n_clusters
        self.neighbourhood = neighbourhood
        self.delta = delta
        self.purity_limit = purity_limit
        self.clustering = clustering
        self.standardize = standardize
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the models on the source and weigh them on the target.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : None, Bags or array-like of shape (n_rows,)
            Nothing is asked of target rows; shares of bags are not used. Plain labels make the
            rows source and target at once.
        source : tuple, optional
            ``(X, y)`` or ``(X, y, sample_weight)``: labelled history with the same columns.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the loss of each row in each model, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        BagError
            When a bag was cut, for example by a plain KFold.
        ValueError
            When the arguments do not fit together, or a model cannot be used.
        """
        self._check_parameters()
        given = read_training(self, X, y, source=source, sample_weight=sample_weight)
        scale = column_scale(given, self.standardize)
        data = _history_beside_target(standardize(given, scale))
        # One for each class is no wish for many: a single target row then is a cluster.
        if self.n_clusters > len(data.classes):
            for X_domain, name in ((data.X_source, "source"), (data.X_target, "target")):
                require_rows_for_clusters(self.n_clusters, X_domain.shape[0], f"{name} rows")
        self._begin(data, scale)
        self._train(data)
        self._look_at_source(data)
        self._look_at_target(data)
        return self

    def _begin(self, data: TrainingData, scale: ColumnScale | None) -> None:
        """Forget what an earlier fit left behind, and store classes and scale."""
        for name in ("feature_center_", "feature_scale_"):
            if hasattr(self, name):
                delattr(self, name)
        self.classes_ = data.classes
        self.positive_class_ = data.positive
        self.is_sparse_ = bool(sparse.issparse(data.X_source))
        if scale is not None:
            self.feature_center_, self.feature_scale_ = scale.center, scale.scale

    # Models -------------------------------------------------------------------------------

    def _train(self, data: TrainingData) -> None:
        """Fit every model to the labels 0 and 1 of the source."""
        is_second = (data.source_signs > 0).astype(np.int64)
        self.models_ = {}
        for name, model in named_models(self.models, data):
            weight = {}
            if np.any(data.source_weight != 1.0):
                if not has_fit_parameter(model, "sample_weight"):
                    raise ValueError(
                        f"The model {name!r} takes no sample_weight; leave the weights of the "
                        "source out, or take another model."
                    )
                weight = {"sample_weight": data.source_weight}
            self.models_[name] = clone(model).fit(data.X_source, is_second, **weight)

    def _opinions(self, X: Any) -> Floats:
        """Return the probability of each class by each model; shape (n_models, n_rows, 2)."""
        opinions = []
        for name, model in self.models_.items():
            opinion = np.asarray(model.predict_proba(X), dtype=np.float64)
            if not np.all(np.isfinite(opinion)):
                raise ValueError(
                    f"The model {name!r} gives probabilities that are not finite; scale the "
                    "features, or take another model."
                )
            opinions.append(opinion)
        return np.array(opinions)

    # Neighbourhoods -----------------------------------------------------------------------

    def _points(self, X: Any) -> Any:
        """Return rows as they are clustered."""
        return to_unit_length(X) if self.clustering == "spherical" else X

    def _centers(self, points: Any) -> Floats:
        return cluster_centers(
            points, self.n_clusters, n_init=_N_INIT, random_state=self.random_state
        )

    def _look_at_source(self, data: TrainingData) -> None:
        points = self._points(data.X_source)
        self.purity_ = purity(nearest(points, self._centers(points)), data.source_signs > 0)
        self.is_weighted_ = self.purity_ >= self.purity_limit

    def _look_at_target(self, data: TrainingData) -> None:
        points = self._points(data.X_target)
        self.cluster_centers_ = self._centers(points)
        cluster, opinions = nearest(points, self.cluster_centers_), self._opinions(data.X_target)
        labels = labels_of(opinions)
        n_clusters = len(self.cluster_centers_)
        self.consistency_ = consistency(cluster, labels, n_clusters, self.neighbourhood)
        weighted, is_decided = self._vote(cluster, opinions)
        n_decided = np.bincount(cluster[is_decided], minlength=n_clusters)
        self.cluster_probability_ = np.zeros((n_clusters, 2))
        np.add.at(self.cluster_probability_, cluster[is_decided], weighted[is_decided])
        self.cluster_probability_ /= np.maximum(n_decided, 1)[:, None]
        found = self._decide(cluster, opinions)
        self.transduction_ = self.classes_[(found[:, 1] > found[:, 0]).astype(np.intp)]

    def _vote(self, cluster: Labels, opinions: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the weighted probabilities of rows, and which rows are decided by them."""
        n_models = len(opinions)
        agreement = self.consistency_[
            np.arange(n_models)[:, None], cluster[None, :], labels_of(opinions)
        ]
        total = agreement.sum(axis=0)
        share = agreement / np.where(total > 0, total, 1.0)
        weight = np.where(total > 0, share, 1.0 / n_models)
        return np.einsum("in,inc->nc", weight, opinions), total / n_models >= self.delta

    def _decide(self, cluster: Labels, opinions: Floats) -> Floats:
        """Return the probability of each class of rows in clusters; shape (n_rows, 2)."""
        plain: Floats = opinions.mean(axis=0)
        if not self.is_weighted_:
            return plain
        weighted, is_decided = self._vote(cluster, opinions)
        around = self.cluster_probability_[cluster]
        knows_decided = around.sum(axis=1, keepdims=True) > 0
        return np.where(is_decided[:, None], weighted, np.where(knows_decided, around, plain))

    # Predictions --------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        if hasattr(self, "feature_scale_"):
            X = ColumnScale(self.feature_center_, self.feature_scale_).apply(X)
        elif sparse.issparse(X) and not self.is_sparse_:
            X = X.toarray()
        cluster = nearest(self._points(X), self.cluster_centers_)
        return logit_of_columns(self._decide(cluster, self._opinions(X)))

    def _saved_shapes(self) -> dict[str, tuple[int, ...]]:
        n_clusters = len(self.cluster_centers_)
        return {
            "cluster_centers_": (n_clusters, self.n_features_in_),
            "consistency_": (len(self.models_), n_clusters, 2),
            "cluster_probability_": (n_clusters, 2),
        }

    def _machines_inside(self) -> list[Any]:
        return list(self.models_.values())

    def _bag_tags(self) -> BagTags:
        return BagTags(
            uses_source=True,
            needs_source=True,
            uses_bags=False,
            uses_unlabelled_rows=True,
            uses_target_labels=False,
        )


def _history_beside_target(data: TrainingData) -> TrainingData:
    """Return data with a source: the one given, or labelled target rows, which stay target too."""
    require_one_history(data, "LWE")
    if data.n_source:
        kept = np.flatnonzero(data.source_weight > 0)
        X_source, signs, weight = data.X_source, data.source_signs, data.source_weight
    else:
        kept = np.arange(len(data.labelled_rows))
        X_source = data.X_target[data.labelled_rows]
        signs, weight = data.labelled_signs, data.labelled_weight
    X_source, X_target = X_source[kept], data.X_target
    if sparse.issparse(X_source) != sparse.issparse(X_target):
        # Models expect rows as they were trained on.
        X_source, X_target = sparse.csr_array(X_source), sparse.csr_array(X_target)
    return replace(
        data,
        X_source=X_source,
        X_target=X_target,
        source_signs=signs[kept],
        source_weight=weight[kept],
    )
