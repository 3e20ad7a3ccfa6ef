# SPDX-License-Identifier: BSD-3-Clause
r"""The mean map: class means from bag means, then logistic regression without labels.

Where rows of a class are alike in all bags, :math:`P(x \mid y, \text{bag}) = P(x \mid y)`, the
mean of a bag is the mixture of the class means by its share. Least squares turns that around:
with bag means :math:`\bar Z`, shares :math:`p`, :math:`\Pi = [p,\ 1 - p]` and bag weights
:math:`D`,

.. math::

    [\hat\mu_+;\ \hat\mu_-] = (\Pi^\top D\, \Pi)^{-1} \Pi^\top D \bar Z, \qquad
    \hat\mu_{xy} = \hat\pi \hat\mu_+ - (1 - \hat\pi) \hat\mu_-,

and the logistic loss needs labels through :math:`\hat\mu_{xy}` only [1]_:

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2 + C \sum_j \omega_j \bigl(\log(e^{f_j/2} + e^{-f_j/2})\bigr)
    - \tfrac C2 N \bigl(w^\top \hat\mu_{xy} + b\,(2\hat\pi - 1)\bigr),
    \qquad f_j = w^\top z_j + b,

with :math:`N = \sum_j \omega_j`. In terms of :math:`v = w/2` this is
:math:`\sum_j \log(e^{v^\top z_j} + e^{-v^\top z_j}) - N v^\top \hat\mu_{xy}
+ \tfrac\lambda2 \|v\|^2` with :math:`\lambda = 4/C` and probability
:math:`\sigma(2 v^\top z)`, as it is mostly written; there the bias is a constant column and
penalised, here it is not. :mod:`bagshift.estimators._mean_maps` shows that it is logistic
regression on real targets. Kernels enter through their features, see
:mod:`bagshift.kernels`. More classes have a softmax: :mod:`bagshift.estimators._class_mean_map`.

The condition number of :math:`D^{1/2}\Pi` says by how much errors of the bag means are blown up.

References
----------
.. [1] N. Quadrianto, A. J. Smola, T. S. Caetano, Q. V. Le. Estimating labels from label
   proportions. Journal of Machine Learning Research 10, 2009.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone

from bagshift.estimators._class_mean_map import class_mean_map
from bagshift.estimators._class_scores import normalise
from bagshift.estimators._class_training import ClassTraining
from bagshift.estimators._linear_head import Prepared
from bagshift.estimators._mean_maps import MeanMapMachine, least_squares_weights
from bagshift.kernels import unit_means
from bagshift.solvers import LinearMachine
from bagshift.solvers.targeted_softmax import solve_targeted_softmax

Floats = NDArray[np.float64]


class MeanMap(MeanMapMachine):
    r"""Logistic classifier from class means that are unmixed from bag means.

    Learns from bags of target rows with known shares alone. The problem solved stands in the
    module :mod:`bagshift.estimators.mean_map`.

    Parameters
    ----------
    C : float, default=1.0
        Factor on the logistic loss of each row, which is a sum; :math:`C = 4/\lambda` for the
        :math:`\lambda` of the paper.
    kernel : {"auto", "linear", "rbf", "poly", "precomputed"} or callable, default="auto"
        Kernel of the machine; "auto" is "linear" for sparse rows and "rbf" for dense ones.
        "precomputed" takes rows of the kernel matrix of all training rows. Kernels other than
        "linear" go through a low-rank map, see `n_components`.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly", as in :class:`TGPLM`.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    standardize : {"auto", True, False}, default="auto"
        Whether to centre and scale the columns, as in :class:`CountLikelihoodClassifier`.
    n_components : int or None, default=1000
        Rows that span the features of a kernel other than "linear" (Nyström). With as many
        landmarks as rows the kernel is exact; None takes all.
    bag_weight : {"size", "equal"}, default="size"
        Weight of a bag in the least squares for the class means and in the overall share: its
        number of rows, which is the inverse variance of its mean, or one. Either is multiplied by
        the weight given in ``Bags.from_arrays``. The authors' code weighs bags equally.
    tol : float, default=1e-10
        The optimiser stops when the gradient is this small relative to the weights.
    max_iter : int, default=500
        Limit on steps of the optimiser.
    random_state : int or RandomState, default=0
        For the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    condition_number_ : float
        Ratio of the singular values of :math:`D^{1/2}\Pi`; about 1 / (2 s) when shares near one
        half have the standard deviation s.
    class_means_ : ndarray of shape (n_classes, n_features)
        Estimated means of the classes in the columns as given, with a
        linear kernel only.
    intercept_ : ndarray of shape (1,)
        Intercept.
    coef_ : ndarray of shape (1, n_features)
        Weights on the columns as given, with a linear kernel only.
    support_vectors_ : matrix of shape (n_components, n_features)
        Landmark rows (standardised, where columns are), with other kernels.
    dual_coef_ : ndarray of shape (1, n_components)
        Coefficients on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    feature_center_, feature_scale_ : ndarray of shape (n_features,)
        Centre and spread of the columns, where they were standardised and the kernel is not
        linear.
    n_iter_ : int
        Steps of the optimiser.
    objective_ : float
        Value of the problem, with the logistic loss as log(1 + exp(f)) - t f.
    gradient_norm_ : float
        Norm of its gradient.
    converged_ : bool
        Whether the optimiser reached ``tol``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    Raises
    ------
    BagError
        In ``fit``, with fewer than two different shares.

    Warns
    -----
    BagWarning
        In ``fit``, when the shares differ so little that the estimated difference of the class
        means errs by more than the spread of the rows.

    See Also
    --------
    LaplacianMeanMap : Lets the class means differ between bags that lie apart.
    AlternatingMeanMap : Goes on from a mean map with labels that fit the shares.
    CountLikelihoodClassifier : Uses the count itself, and a source.

    Notes
    -----
    Bags that are random draws from one population fit the assumption; bags made by region or
    time need not. Noise laws of shares play no part: a noisy share is clipped to [0, 1].

    References
    ----------
    N. Quadrianto, A. J. Smola, T. S. Caetano, Q. V. Le, Estimating labels from label proportions,
    Journal of Machine Learning Research 10, 2009. Cited from memory, and checked against the
    public code of the authors of the Laplacian mean map. Bag weights by size are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, MeanMap
    >>> X = np.array([1, 1, 1, 1, 1, 3, 1, 3, 3, 3, 3, 3.0])[:, None]
    >>> counts = {"a": 0, "b": 1, "c": 2, "d": 3}
    >>> bags = Bags.from_arrays(np.repeat(list("abcd"), 3), counts=counts)
    >>> machine = MeanMap(kernel="linear").fit(X, bags)
    >>> machine.class_means_.round(6)
    array([[1.],
           [3.]])
    >>> machine.predict(X)
    array([0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
    """

    _takes_more_classes = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "auto",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: Any = "auto",
        n_components: int | None = 1000,
        bag_weight: str = "size",
        tol: float = 1e-10,
        max_iter: int = 500,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.standardize = standardize
        self.n_components = n_components
        self.bag_weight = bag_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit_classes(self, given: ClassTraining) -> None:
        view = given.against_rest(0)
        self._check_learnable(view)
        scale = self._column_scale(view)
        data = given if scale is None else given.standardized(scale)
        space = self._space(data.against_rest(0))
        mean_map = class_mean_map(type(self).__name__, data, self.bag_weight)
        result = solve_targeted_softmax(
            space.transform(data.X_target[mean_map.rows]),
            mean_map.targets,
            self.C * mean_map.row_weights,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        parts = [clone(self) for _ in data.classes]
        for part, weights, intercept in zip(parts, result.weights, result.intercepts, strict=True):
            part.n_features_in_ = self.n_features_in_
            machine = LinearMachine(weights, float(intercept))
            part._store_machine(data, space, "", machine, scale)
        self._begin(data, space.kernel)
        self._stack(parts)
        self.n_iter_, self.objective_ = result.n_iter, result.objective
        self.gradient_norm_, self.converged_ = result.gradient_norm, result.converged
        self.condition_number_ = mean_map.condition_number
        if space.kernel.name == "linear":
            means = unit_means(given.X_target, given.unit_of_row, given.n_target_units)
            self.class_means_ = np.asarray(mean_map.of_classes @ means)

    def _chances(self, scores: Floats) -> Floats:
        return normalise(softmax(scores, axis=1), scores)

    def _class_weights(self, ready: Prepared, weights: Floats) -> tuple[Floats, float]:
        return least_squares_weights(ready.rows.bags.shares, weights)
