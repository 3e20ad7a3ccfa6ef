# SPDX-License-Identifier: BSD-3-Clause
r"""The alternating mean map: labels that fit the shares and logistic regression by turns.

From the machine of a mean map, two steps alternate [1]_: in every bag the :math:`c_k` rows of
highest score get the label +1, :math:`c_k` being the count that its share stands for, and the
others -1; then logistic regression is fitted to these labels. Both descend on

.. math::

    \min_{w, b,\ y:\ \sum_{j \in S_k} [y_j = 1] = c_k}\ \tfrac12\|w\|^2
    + C \sum_j \omega_j \log\bigl(1 + e^{-y_j f_j}\bigr), \qquad f_j = w^\top z_j + b,

the first over the labels (:mod:`bagshift.estimators._exact_counts` shows that the top rows are
best), the second over the machine; so the loss never rises, and since there are finitely many
labels the alternation ends. This is the authors' variant "min". Their variant "max" gives the
*lowest* rows the label +1, which makes the loss as large as the shares allow, and keeps the best
machine seen.

References
----------
.. [1] G. Patrini, R. Nock, P. Rivera, T. Caetano. (Almost) no label no cry. Advances in Neural
   Information Processing Systems 27, 2014.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._exact_counts import expected_counts, label_top_counts
from bagshift.estimators._linear_head import Prepared, Trained
from bagshift.estimators._mean_maps import MeanMapMachine, least_squares_weights
from bagshift.estimators._smooth_class_means import LAPLACIAN_CONSTRAINTS, laplacian_weights
from bagshift.exceptions import plural
from bagshift.solvers.linear_heads import HeadResult

Floats = NDArray[np.float64]


class AlternatingMeanMap(MeanMapMachine):
    r"""Logistic classifier on row labels that agree with the count of every bag.

    Learns from bags of target rows with known shares alone. The problem solved stands in the
    module :mod:`bagshift.estimators.alternating_mean_map`.

    Parameters
    ----------
    C : float, default=1.0
        Factor on the logistic loss of each row, which is a sum; :math:`C = 4/\lambda` for the
        :math:`\lambda` of the paper.
    start : {"laplacian", "mean_map"}, default="laplacian"
        The machine that gives the first labels: :class:`LaplacianMeanMap` or :class:`MeanMap`
        with the same parameters.
    variant : {"min", "max"}, default="min"
        Which rows of a bag are taken as positive: those of the highest scores, or those of the
        lowest.
    smoothing : float, default=1.0
        Weight of the differences of class means between bags, of the start "laplacian", in units
        of the weight of the average bag.
    bandwidth : float or "median", default="median"
        Distance of bag means at which their similarity falls to 1/e, of the start "laplacian".
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
        Weights of the bags in the mean map, as in :class:`MeanMap`.
    max_rounds : int, default=30
        Limit on the number of times that labels are chosen.
    tol : float, default=1e-10
        The optimiser stops when the gradient is this small relative to the weights.
    max_iter : int, default=500
        Limit on steps of the optimiser for each choice of labels.
    random_state : int or RandomState, default=0
        For the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    objective_history_ : ndarray of shape (n_rounds,)
        Value of the problem after each choice of labels; it never rises with ``variant="min"``.
    objective_ : float
        Its value for the machine that was kept.
    n_rounds_ : int
        How often labels were chosen.
    condition_number_, class_means_ : float and ndarray
        Of the mean map that it started from, see there.
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
        Steps of the optimiser, for the mean map and for all labels.
    gradient_norm_ : float
        Norm of the gradient for the labels of the machine that was kept.
    converged_ : bool
        Whether the optimiser reached ``tol`` and the labels settled (with ``variant="max"``,
        where they need not, the first alone).
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
    LaplacianMeanMap, MeanMap : The machines that it starts from.
    TGPLMPlus : The same alternation with a hinge loss, and a source.

    Notes
    -----
    Where a bag's share times its number of rows is not whole, the count is the nearest whole
    number; noise laws of shares play no part.

    References
    ----------
    G. Patrini, R. Nock, P. Rivera, T. Caetano, (Almost) no label no cry, NIPS 2014; checked
    against the authors' public code, which stops when the loss changes by less than 0.001.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import AlternatingMeanMap, Bags
    >>> X = np.array([0, 1, 0, 1, 0, 3, 1, 3, 4, 3, 4, 3.0])[:, None]
    >>> counts = {"a": 0, "b": 1, "c": 2, "d": 3}
    >>> bags = Bags.from_arrays(np.repeat(list("abcd"), 3), counts=counts)
    >>> AlternatingMeanMap(kernel="linear").fit(X, bags).predict(X)
    array([0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MeanMapMachine._parameter_constraints,
        **LAPLACIAN_CONSTRAINTS,
        "start": [StrOptions({"laplacian", "mean_map"})],
        "variant": [StrOptions({"min", "max"})],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        start: str = "laplacian",
        variant: str = "min",
        smoothing: float = 1.0,
        bandwidth: Any = "median",
        kernel: Any = "auto",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: Any = "auto",
        n_components: int | None = 1000,
        bag_weight: str = "size",
        max_rounds: int = 30,
        tol: float = 1e-10,
        max_iter: int = 500,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.start = start
        self.variant = variant
        self.smoothing = smoothing
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.standardize = standardize
        self.n_components = n_components
        self.bag_weight = bag_weight
        self.max_rounds = max_rounds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _class_weights(self, ready: Prepared, weights: Floats) -> tuple[Floats, float]:
        if self.start == "mean_map":
            return least_squares_weights(ready.rows.bags.shares, weights)
        return laplacian_weights(
            ready.rows,
            ready.rows.means(ready.target_features),
            weights,
            smoothing=self.smoothing,
            bandwidth=self.bandwidth,
        )

    def _train(self, ready: Prepared) -> Trained:
        mean_map = self._mean_map(ready)
        first = self._refit(ready, mean_map.targets)
        ends, settled = self._alternate(ready, first) if first.converged else ([], False)
        last, best = (ends or [first])[-1], min(ends or [first], key=lambda end: end.objective)
        facts = {
            "objective_history_": np.array([end.objective for end in ends]),
            "n_rounds_": len(ends),
        }
        complaint = ""
        if last.converged and not settled and self.variant == "min":
            complaint = (
                f"The labels of rows in bags were not settled after {plural(len(ends), 'round')}; "
                "set a higher max_rounds."
            )
        n_iter = first.n_iter + sum(end.n_iter for end in ends)
        return Trained(
            replace(best, n_iter=n_iter, converged=last.converged),
            {**self._facts(ready, mean_map), **facts},
            complaint,
        )

    def _alternate(self, ready: Prepared, first: HeadResult) -> tuple[list[HeadResult], bool]:
        """Return the machine of every round, and whether the labels settled."""
        guess = np.full(len(ready.rows.rows), 0.5)
        labels = self._best_labels(ready, first, guess)
        # Not from the first machine, whose weights may be of quite another size.
        ends = [self._refit(ready, labels)]
        while ends[-1].converged:
            chosen = self._best_labels(ready, ends[-1], labels)
            if np.array_equal(chosen, labels):
                return ends, True
            if len(ends) == self.max_rounds:
                break
            end = self._refit(ready, chosen, ends[-1].machines)
            if self.variant == "min" and end.converged and end.objective >= ends[-1].objective:
                # Scores that differ by less than the optimiser's tolerance would swap for ever.
                return ends, True
            labels = chosen
            ends.append(end)
        return ends, False

    def _best_labels(self, ready: Prepared, end: HeadResult, labels: Floats) -> Floats:
        """Return the labels, 0 or 1, that a machine makes best (or worst) in every bag."""
        machines, rows = end.machines, ready.rows
        scores = ready.target_features @ machines.target_weights + machines.target_intercept
        signs = label_top_counts(
            scores if self.variant == "min" else -scores,
            rows.bag_of_row,
            expected_counts(rows.bags.shares, rows.bags.sizes),
            previous=2.0 * labels - 1.0,
        )
        return np.asarray(0.5 * (1.0 + signs))
