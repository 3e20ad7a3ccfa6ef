# SPDX-License-Identifier: BSD-3-Clause
r"""The Laplacian mean map: class means that differ between bags, smoothly.

The mean map asks that rows of a class be alike in all bags. Here every bag :math:`k` has its own
class means :math:`b_k^\pm`, and bags whose means lie close together have similar ones [1]_:

.. math::

    \min_B\ \sum_k D_k \bigl\|\bar z_k - p_k b_k^+ - (1 - p_k)\, b_k^-\bigr\|^2
    + \frac\gamma{2 \bar s} \sum_{k, l} s_{kl}
    \bigl(\|b_k^+ - b_l^+\|^2 + \|b_k^- - b_l^-\|^2\bigr),

that is, with :math:`\Pi = [\mathrm{diag}(p),\ \mathrm{diag}(1 - p)]`,
:math:`D` the bag weights (of mean one), :math:`L` the graph Laplacian of the similarities
:math:`s_{kl} = e^{-\|\bar z_k - \bar z_l\| / \sigma}` of different bags and :math:`\bar s` what
these sum to for the average bag,

.. math::

    \Bigl(\Pi^\top D\, \Pi + \frac\gamma{\bar s}\, \mathrm{blkdiag}(L, L)\Bigr) B
    = \Pi^\top D \bar Z,
    \qquad
    \hat\mu_+ = \frac{\sum_k D_k p_k b_k^+}{\sum_k D_k p_k}, \quad
    \hat\mu_- = \frac{\sum_k D_k (1 - p_k)\, b_k^-}{\sum_k D_k (1 - p_k)} .

What follows is that of :mod:`bagshift.estimators.mean_map`, which this tends to as
:math:`\gamma \to \infty`.

In [1]_ there is no :math:`\bar s`. The more bags there are, the more pulls on each the sum over
pairs then has, and with tens of bags the weight 10 of the authors' code is so large that the
answer is that of the mean map. Divided by :math:`\bar s`, :math:`\gamma` means the same for any
number of bags: with 1 the pulls of all other bags on the average one weigh as much together as
its own equation.

References
----------
.. [1] G. Patrini, R. Nock, P. Rivera, T. Caetano. (Almost) no label no cry. Advances in Neural
   Information Processing Systems 27, 2014.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._linear_head import Prepared
from bagshift.estimators._mean_maps import MeanMapMachine
from bagshift.estimators._smooth_class_means import LAPLACIAN_CONSTRAINTS, laplacian_weights

Floats = NDArray[np.float64]


class LaplacianMeanMap(MeanMapMachine):
    r"""Logistic classifier from class means that vary smoothly between bags.

    Learns from bags of target rows with known shares alone. The problem solved stands in the
    module :mod:`bagshift.estimators.laplacian_mean_map`.

    Parameters
    ----------
    C : float, default=1.0
        Factor on the logistic loss of each row, which is a sum; :math:`C = 4/\lambda` for the
        :math:`\lambda` of the paper.
    smoothing : float, default=1.0
        Weight :math:`\gamma` of the differences of class means between bags: how hard all other
        bags together pull on the average one, in units of its own weight. Above 10 it is nearly
        :class:`MeanMap`. The weight of the authors, 10 in their code and 0.01 in its
        demonstration, is `smoothing` over :math:`\bar s`, which is about a third of the number
        of bags with the default bandwidth. Unit and default are ours.
    bandwidth : float or "median", default="median"
        Distance :math:`\sigma` of bag means at which their similarity falls to 1/e, in the
        features of the kernel; "median" is the median distance between two bags, and ours. The
        authors' code has 1.
    kernel : {"auto", "linear", "rbf", "poly", "precomputed"} or callable, default="auto"
        Kernel of the machine, as in :class:`MeanMap`.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly", as in :class:`TGPLM`.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    standardize : {"auto", True, False}, default="auto"
        Whether to centre and scale the columns, as in :class:`CountLikelihoodClassifier`.
    n_components : int or None, default=1000
        Rows that span the features of a kernel other than "linear" (Nyström); None takes all.
    bag_weight : {"size", "equal"}, default="size"
        Weights :math:`D` of the bags, as in :class:`MeanMap`. The authors' code weighs them
        equally.
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
        Of the matrix of the linear system for the class means of all bags.
    class_means_ : ndarray of shape (2, n_features)
        Estimated means of ``classes_[0]`` and ``classes_[1]`` over all bags, in the columns as
        given, with a linear kernel only.
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
        Value of the logistic problem.
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
        In ``fit``, as in :class:`MeanMap`.

    See Also
    --------
    MeanMap : One mean of each class for all bags.
    AlternatingMeanMap : Goes on from here with labels that fit the shares.

    Notes
    -----
    Where rows of a class are alike in all bags, as in bags that are random draws, it is no better
    than :class:`MeanMap`, and with `smoothing` well below one a little worse. In bags that drift,
    whose rows move from one to the next, its accuracy was one or two points higher in our trials.

    The system has two unknowns for every bag, in dense matrices. All labelled rows of a class
    count as one bag in it. Noise laws of shares play no part: a noisy share is clipped to [0, 1].

    References
    ----------
    G. Patrini, R. Nock, P. Rivera, T. Caetano, (Almost) no label no cry, NIPS 2014; checked
    against the authors' public code.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, LaplacianMeanMap
    >>> X = np.array([0, 1, 0, 1, 0, 3, 1, 3, 4, 3, 4, 3.0])[:, None]
    >>> counts = {"a": 0, "b": 1, "c": 2, "d": 3}
    >>> bags = Bags.from_arrays(np.repeat(list("abcd"), 3), counts=counts)
    >>> LaplacianMeanMap(kernel="linear").fit(X, bags).predict(X)
    array([0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MeanMapMachine._parameter_constraints,
        **LAPLACIAN_CONSTRAINTS,
    }

    def __init__(
        self,
        C: float = 1.0,
        smoothing: float = 1.0,
        bandwidth: Any = "median",
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
        self.smoothing = smoothing
        self.bandwidth = bandwidth
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

    def _class_weights(self, ready: Prepared, weights: Floats) -> tuple[Floats, float]:
        return laplacian_weights(
            ready.rows,
            ready.rows.means(ready.target_features),
            weights,
            smoothing=self.smoothing,
            bandwidth=self.bandwidth,
        )
