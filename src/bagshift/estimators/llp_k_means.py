# SPDX-License-Identifier: BSD-3-Clause
r"""LLP by k-means: one label for each cluster, so that the clusters explain the shares of bags.

The target rows are cut into :math:`q` clusters, and every cluster gets one label
:math:`s_c \in \{0, 1\}`. With :math:`a_{kc}` the share of the rows of bag :math:`k` that lie in
cluster :math:`c`, the share of positives that the labels give the bag is
:math:`\sum_c a_{kc} s_c`, and the labels are those of least *fitness*

.. math::

    \min_{s \in \{0, 1\}^q}\ \frac1{\sum_k \omega_k |S_k|}
    \sum_k \omega_k\,|S_k|\,\Bigl(\sum_c a_{kc}\,s_c - p_k\Bigr)^2 .

All labels are tried where clusters are few; where they are many, single labels are flipped as long
as that lowers the fitness, from several first labels. The number of clusters, and weights of the
features drawn at random if so wished, are those of least fitness too; there are no more clusters
than half the bags, for with as many labels as shares any fit is chance (this limit is ours). A
labelled target row is a bag of one. A row is classified by its nearest centre.

The method is that of [1]_, of which only the abstract was seen. **The fitness is simplified**:
there it has further terms, on how the overall shares of the classes agree, and weights of
features are looked for by evolution, here by drawing them.

References
----------
.. [1] M. Stolpe, K. Morik. Learning from label proportions by optimizing cluster model selection.
   ECML PKDD 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagClassifier, BagTags
from bagshift.estimators._cluster_labels import BagClusters, label_clusters
from bagshift.estimators._clusters import (
    cluster_centers,
    nearest,
    require_rows_for_clusters,
    squared_distances,
)
from bagshift.estimators._feature_space import ColumnScale, column_scale, standardize
from bagshift.estimators._training import TrainingData, read_training, require_two_classes
from bagshift.exceptions import ReversedScoresWarning, warn_caller

Floats = NDArray[np.float64]

FEWEST_CLUSTERS, MOST_CLUSTERS = 2, 20
_SEEDS = 2**31 - 1
# Standard errors by which the fitness of mirrored labels has to be greater.
_CLEAR = 1.0
# Fitnesses that agree in so many digits after the point are equal up to rounding.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class _Model:
    """Labelled clusters.

    Attributes
    ----------
    feature_weights : ndarray of shape (n_features,)
    centers : ndarray of shape (n_clusters, n_features)
        Of weighted rows.
    is_second : bool ndarray of shape (n_clusters,)
        Labels.
    clusters : BagClusters
    fitness : float
    """

    feature_weights: Floats
    centers: Floats
    is_second: NDArray[np.bool_]
    clusters: BagClusters
    fitness: float

    @property
    def rank(self) -> float:
        """The fitness but for rounding: of models that fit alike, the first is taken."""
        return round(self.fitness, _DIGITS)


class LLPKMeans(BagClassifier):
    """Clusters of the target, each with the label that explains the shares of bags best.

    The problem solved stands in the module :mod:`bagshift.estimators.llp_k_means`.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        A number, no more than there are target rows. "auto" tries 2 to 20, but no more than half
        as many as there are bags and labelled rows, and keeps the number of least fitness, the
        smallest of equals.
    n_weightings : int, default=0
        How many times weights of the features are drawn at random, besides equal ones; each
        costs as much as the whole fit without.
    standardize : {"auto", True, False}, default="auto"
        Whether to centre and scale the columns first. "auto" does so for dense rows when the
        largest standard deviation of a column is more than a hundred times the middle one, or
        the centres of the columns lie far apart.
    n_init : int, default=3
        How many times k-means starts anew for each number of clusters.
    random_state : int or RandomState, default=0
        Of k-means and of weights.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    n_clusters_ : int
        How many clusters were found best.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Their centres, of standardised rows where columns are, times the weights of features.
    cluster_labels_ : ndarray of shape (n_clusters,)
        Their labels.
    feature_weights_ : ndarray of shape (n_features,)
        Factors on the columns; 1 where equal weights were best.
    fitness_ : float
        Weighted mean squared error of the shares that the clusters give the bags.
    fitness_path_ : ndarray of shape (n_tried,)
        The least of it for each number of clusters that was tried, over all weights of features.
    feature_center_, feature_scale_ : ndarray of shape (n_features,)
        Centre and spread of the columns, where they were standardised.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    MeanMap : Class means from bag means.
    ProportionSVM : A label for each row in place of each cluster.

    Notes
    -----
    The fitness is simplified from the original's. It is computed on the bags that were fitted, and
    tends to fall with the number of clusters.

    The score of a row is its squared distance to the nearest centre of ``classes_[0]`` less that
    to the nearest centre of ``classes_[1]``; it is no log odds. With all clusters of one label it
    is 1 or -1.

    References
    ----------
    M. Stolpe, K. Morik. Learning from label proportions by optimizing cluster model selection.
    ECML PKDD 2011. Seen as an abstract only.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, LLPKMeans
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.random(200) < np.repeat(rng.random(25), 8)  # never shown to the machine
    >>> X = rng.normal(size=(200, 2)) + 4.0 * labels[:, None]
    >>> bag_ids = np.repeat(np.arange(25), 8)
    >>> shares = {k: labels[bag_ids == k].mean() for k in range(25)}
    >>> machine = LLPKMeans(n_clusters=2).fit(X, Bags.from_arrays(bag_ids, shares))
    >>> bool(machine.score(X, labels.astype(int)) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_weightings": [Interval(Integral, 0, None, closed="left")],
        "standardize": [StrOptions({"auto"}), "boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        n_weightings: int = 0,
        standardize: Any = "auto",
        n_init: int = 3,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_weightings = n_weightings
        self.standardize = standardize
        self.n_init = n_init
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Cluster the rows and label the clusters.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR. Rows in no bag are clustered with the others.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows; with plain labels clusters get the label of most of their rows.
        source : None
            The method has no use for labelled history.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the error of each row, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        BagError
            When a bag was cut, for example by a plain KFold.
        ValueError
            When the arguments do not fit together.

        Warns
        -----
        ReversedScoresWarning
            When the bags do not tell the labels of the clusters from the opposite ones.
        """
        self._check_parameters()
        given = read_training(self, X, y, source=source, sample_weight=sample_weight)
        if given.n_source:
            raise ValueError(
                "LLPKMeans learns from bags alone and cannot use source rows; leave them out, or "
                "take another method."
            )
        if not given.n_target_units:
            raise ValueError("There is nothing to learn from: no row is in a bag or has a label.")
        require_two_classes(given)
        scale = column_scale(given, self.standardize)
        models = self._models(standardize(given, scale))
        self._store(given, scale, models)
        if given.bags.n_bags and not self._is_clear(min(models, key=lambda m: m.fitness)):
            warn_caller(
                "The shares fit these labels of the clusters and the opposite ones about equally "
                "well, so which class is which may be the wrong way round: give bags whose shares "
                "differ more, or labelled rows.",
                ReversedScoresWarning,
            )
        return self

    # Training -----------------------------------------------------------------------------

    def _models(self, data: TrainingData) -> list[_Model]:
        """Return the labelled clusters of every number of clusters, under the best weights."""
        rng = check_random_state(self.random_state)
        tried = self._numbers_to_try(data.X_target.shape[0], data.n_target_units)
        seeds = rng.randint(_SEEDS, size=len(tried))
        best: list[_Model] = []
        for number in range(self.n_weightings + 1):
            weights = np.ones(self.n_features_in_)
            if number:
                weights = np.sqrt(rng.standard_exponential(self.n_features_in_))
            rows = weighted(data.X_target, weights)
            for i, (n_clusters, seed) in enumerate(zip(tried, seeds, strict=True)):
                model = self._model(data, rows, weights, n_clusters, int(seed))
                if i == len(best):
                    best.append(model)
                elif model.rank < best[i].rank:
                    best[i] = model
        return best

    def _numbers_to_try(self, n_rows: int, n_units: int) -> list[int]:
        """Return numbers of clusters, up to half that of bags and labelled rows."""
        if self.n_clusters != "auto":
            require_rows_for_clusters(self.n_clusters, n_rows, "target rows")
            return [int(self.n_clusters)]
        fewest = min(FEWEST_CLUSTERS, n_rows)
        most = max(fewest, min(MOST_CLUSTERS, n_units // 2, n_rows - 1))
        return list(range(fewest, most + 1))

    def _model(
        self, data: TrainingData, rows: Any, weights: Floats, n_clusters: int, seed: int
    ) -> _Model:
        centers = cluster_centers(rows, n_clusters, n_init=self.n_init, random_state=seed)
        clusters = BagClusters.of(data, nearest(rows, centers), len(centers))
        is_second = label_clusters(clusters)
        fitness = float(clusters.errors(is_second) @ clusters.weights)
        return _Model(weights, centers, is_second, clusters, fitness)

    def _is_clear(self, model: _Model) -> bool:
        """Tell whether opposite labels fit the bags clearly worse."""
        clusters = model.clusters
        gap = clusters.errors(~model.is_second) - clusters.errors(model.is_second)
        mean = float(clusters.weights @ gap)
        error = np.sqrt(float(clusters.weights**2 @ (gap - mean) ** 2))
        return mean > _CLEAR * float(error)

    def _store(self, data: TrainingData, scale: ColumnScale | None, models: list[_Model]) -> None:
        for name in ("feature_center_", "feature_scale_"):
            if hasattr(self, name):
                delattr(self, name)
        best = min(models, key=lambda model: model.rank)
        self.classes_ = data.classes
        self.positive_class_ = data.positive
        self.n_clusters_ = len(best.centers)
        self.cluster_centers_ = best.centers
        self.cluster_labels_ = data.classes[best.is_second.astype(np.intp)]
        self.feature_weights_ = best.feature_weights
        self.fitness_ = best.fitness
        self.fitness_path_ = np.array([model.fitness for model in models])
        if scale is not None:
            self.feature_center_, self.feature_scale_ = scale.center, scale.scale

    # Predictions --------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        if hasattr(self, "feature_scale_"):
            X = ColumnScale(self.feature_center_, self.feature_scale_).apply(X)
        distance = squared_distances(weighted(X, self.feature_weights_), self.cluster_centers_)
        is_second = self.cluster_labels_ == self.classes_[1]
        if is_second.all() or not is_second.any():
            return np.full(len(distance), 1.0 if is_second.all() else -1.0)
        to_first, to_second = distance[:, ~is_second], distance[:, is_second]
        return np.asarray(to_first.min(axis=1) - to_second.min(axis=1))

    def _saved_shapes(self) -> dict[str, tuple[int, ...]]:
        return {
            "cluster_centers_": (len(self.cluster_labels_), self.n_features_in_),
            "feature_weights_": (self.n_features_in_,),
        }

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_unlabelled_rows=True)


def weighted(X: Any, weights: Floats) -> Any:
    """Return rows with factors on their columns, dense or CSR.

    Parameters
    ----------
    X : matrix of shape (n_rows, n_features)
    weights : ndarray of shape (n_features,)

    Returns
    -------
    matrix of shape (n_rows, n_features)
    """
    if np.all(weights == 1.0):
        return X
    return sparse.csr_array(X @ sparse.diags_array(weights)) if sparse.issparse(X) else X * weights
