# SPDX-License-Identifier: BSD-3-Clause
r"""BagCSI: source loss, bag loss, and a comparison of label-weighted means, on a linear machine.

BagCSI [1]_ trains one network on labelled history and on bags of covariate-shifted rows. A third
party's re-implementation takes one batch of source rows and one bag at a time and adds up

* the cross-entropy of the source labels;
* the absolute difference between the mean probability of the bag and its share;
* a domain term: for each class, the mean of the source features times the indicator of the class
  is compared with the mean feature of the bag times its share of the class, and the mean absolute
  difference is squared.

On a linear machine the features are fixed, and a comparison of them would be a constant. What the
machine can change is its score, the one feature that its label is read from, so here the domain
term compares scores (ours). With one machine :math:`f(x) = w^\top x + b` for both domains, mean
probability :math:`\bar h_k` and mean score :math:`\bar f_k` of bag :math:`k`, its share
:math:`p_{kc}` of class :math:`c` and :math:`\Omega = \sum_i \omega_i`,

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2 + C_h \sum_i \omega_i \log\bigl(1 + e^{-y_i f(x_i)}\bigr)
    + C_c \sum_k \omega_k\, |\bar h_k - p_k|_\delta
    + C_d \sum_k \omega_k \sum_c \Bigl(\tfrac1\Omega \sum_i \omega_i [y_i = c] f(x_i)
    - p_{kc} \bar f_k\Bigr)^2 .

Here :math:`|u|_\delta = \sqrt{u^2 + \delta^2} - \delta` with :math:`\delta = 0.01` is the absolute
value with its corner rounded, so that Newton's method applies (ours). The means of batches over
rows and bags are sums here: weights :math:`\lambda_1` of the bag loss and :math:`\lambda_2` of the
domain term beside a mean source loss are :math:`C_c = \lambda_1 C_h n / d` and
:math:`C_d = \lambda_2 C_h n / d` for n source rows and d bags.

The domain term is convex. For equal domains it is zero only where every bag is one row: larger
bags mix the classes, and the term then pulls the scores of both towards each other. That is the
published term, and a reason to keep :math:`C_d` small.

References
----------
.. [1] S. Singh, N. Sharma, S. Havaldar, R. Saket, A. Raghuveer. Learning from label proportions
   and covariate-shifted instances. arXiv:2411.12334, 2024.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval

from bagshift.estimators._base import BagTags
from bagshift.estimators._linear_head import LinearHead, Prepared, Trained, source_machine
from bagshift.estimators._logistic_machine import LogisticMachine
from bagshift.solvers.linear_heads import HeadProblem, solve_heads
from bagshift.solvers.score_losses import (
    BagShares,
    Divergences,
    LossBlocks,
    LossSum,
    MeanProbabilityLoss,
    ScoreLoss,
    SquaredSums,
    TargetedLogistic,
)

Floats = NDArray[np.float64]

# Differences between mean probability and share far below this count as their squares.
_CORNER = 0.01
# Where all labels are known the minimum is one, and two more of Newton's steps make it exact.
_EXACT = 1e-10


class BagCSI(LinearHead):
    r"""Logistic classifier on labelled history and bags, with a term that compares the domains.

    A reconstruction from a third party's re-implementation of the loss; the paper was seen as an
    abstract only. The problem solved stands in the module :mod:`bagshift.estimators.bag_csi`.

    Parameters
    ----------
    C_source : float, default=1.0
        Factor on the log loss of each source row.
    C_target : float, default=64.0
        Factor on the absolute difference between the mean probability and the share of each bag,
        and on the log loss of each labelled target row.
    C_domain : float, default=0.1
        Factor on the domain term of each bag; 0 leaves it out.
    kernel : {"auto", "linear", "rbf", "poly", "precomputed"} or callable, default="auto"
        Kernel of the machine; "auto" is "linear" for sparse rows and "rbf" for dense ones.
        "precomputed" takes rows of the kernel matrix of all training rows, source rows first.
        Kernels other than "linear" go through a low-rank map, see `n_components`.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly", as in :class:`TGPLM`.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    standardize : {"auto", True, False}, default="auto"
        Whether to centre and scale the columns, as in :class:`CountLikelihoodClassifier`.
    n_components : int or None, default=1000
        Rows that span the features of a kernel other than "linear" (Nyström), half of them drawn
        from each domain; None takes all.
    tol : float, default=1e-6
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
    domain_gap_ : float
        Value of the domain term without its factor, per bag: the squared differences between the
        label-weighted mean scores of the domains, summed over the classes.
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
        Value of the problem.
    gradient_norm_ : float
        Norm of its gradient.
    converged_ : bool
        Whether the optimiser reached ``tol``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    ProportionMatching : Two coupled machines and the cross-entropy of the mean probability.
    CountLikelihoodClassifier : Two coupled machines and the likelihood of the counts.

    Notes
    -----
    Bags need a source; plain labels without one make it logistic regression. The bag loss is not
    convex; the optimiser starts from logistic regression on the source. Noise laws of shares play
    no part: a noisy share is clipped to [0, 1].

    Grids for a search are ours. The re-implementation, on deep features, tries values from 0.1
    to 2 for both weights beside a mean source loss.

    References
    ----------
    S. Singh, N. Sharma, S. Havaldar, R. Saket, A. Raghuveer, Learning from label proportions and
    covariate-shifted instances, arXiv:2411.12334, 2024. Seen as an abstract only; the loss was
    seen in a third party's re-implementation. The linear machine, its domain term on scores, the
    rounded corner and the grids are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import BagCSI, Bags
    >>> history = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> X = np.array([[0.0], [0.2], [3.0], [0.1], [2.8], [3.1]])
    >>> bags = Bags.from_arrays(["a", "a", "a", "b", "b", "b"], counts={"a": 1, "b": 2})
    >>> BagCSI(kernel="linear").fit(X, bags, source=history).predict(X)
    array([0, 0, 1, 0, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LogisticMachine._parameter_constraints,
        "C_source": [Interval(Real, 0.0, None, closed="left")],
        "C_target": [Interval(Real, 0.0, None, closed="left")],
        "C_domain": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        C_source: float = 1.0,
        C_target: float = 64.0,
        C_domain: float = 0.1,
        *,
        kernel: Any = "auto",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: Any = "auto",
        n_components: int | None = 1000,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Any = 0,
    ) -> None:
        self.C_source = C_source
        self.C_target = C_target
        self.C_domain = C_domain
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.standardize = standardize
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Target rows, dense or CSR; or both domains stacked by :func:`bagshift.stack_domains`.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows, beside a source; plain labels make it logistic regression.
        source : tuple
            ``(X, y)`` or ``(X, y, sample_weight)``: labelled history with the same columns. Bags
            need it, unless they are stacked with it; plain labels go without.
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
        KernelMemoryError
            When the features of the kernel would not fit into memory.
        ValueError
            When bags come without a source, or the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When the optimiser stopped before its end.
        """
        return super().fit(X, y, source=source, sample_weight=sample_weight)

    def _train(self, ready: Prepared) -> Trained:
        problem = HeadProblem(ready.target_features, self._loss(ready), ready.source_features)
        is_convex = ready.rows.n_true_bags == 0
        has_source = ready.data.n_source > 0 and self.C_source > 0
        result = solve_heads(
            problem,
            start=source_machine(self, ready) if has_source and not is_convex else None,
            tol=min(self.tol, _EXACT) if is_convex else self.tol,
            max_iter=self.max_iter,
        )
        machines, gap = result.machines, 0.0
        if ready.data.n_source and ready.rows.n_true_bags:
            scores = [
                features @ machines.target_weights + machines.target_intercept
                for features in (ready.source_features, ready.target_features)
            ]
            total = _domain_term(ready, 1.0).at(np.concatenate(scores)).value
            gap = total / float(ready.rows.weights[: ready.rows.n_true_bags].sum())
        return Trained(result, {"domain_gap_": gap})

    def _loss(self, ready: Prepared) -> ScoreLoss:
        """Return the loss of the scores of source rows, rows in bags and labelled rows."""
        data, rows = ready.data, ready.rows
        n_bags = rows.n_true_bags
        sizes, shares = rows.bags.sizes, rows.bags.shares
        labels = 0.5 * (1.0 + data.source_signs)
        losses: tuple[ScoreLoss, ...] = (
            TargetedLogistic(labels, self.C_source * data.source_weight),
            MeanProbabilityLoss(
                BagShares.of_sizes(sizes[:n_bags], shares[:n_bags]),
                self.C_target * rows.weights[:n_bags],
                rounded_difference,
            ),
            TargetedLogistic(shares[n_bags:], self.C_target * rows.weights[n_bags:]),
        )
        in_bags = int(sizes[:n_bags].sum())
        blocks = LossBlocks(losses, (data.n_source, in_bags, rows.n_bags - n_bags))
        if not (data.n_source and n_bags and self.C_domain > 0.0):
            return blocks
        return LossSum((blocks, _domain_term(ready, self.C_domain)))

    def _bag_tags(self) -> BagTags:
        return BagTags(uses_source=True, needs_source=True)


# The terms of the loss --------------------------------------------------------------------


def rounded_difference(mean: Floats, rest: Floats, bags: BagShares) -> Divergences:
    r"""Return :math:`|\bar h_k - p_k|_\delta` of every bag.

    Parameters
    ----------
    mean, rest : ndarray of shape (n_bags,)
        Mean probability of the positive class and of the other one.
    bags : BagShares
        Gives the shares.

    Returns
    -------
    Divergences
    """
    difference = mean - bags.shares
    length = np.hypot(difference, _CORNER)
    return Divergences(length - _CORNER, difference / length, _CORNER**2 / length**3)


def domain_term(
    source_labels: Floats, source_weight: Floats, bags: BagShares, costs: Floats, n_more: int = 0
) -> SquaredSums:
    r"""Return the squared differences of label-weighted mean scores.

    Parameters
    ----------
    source_labels, source_weight : ndarray of shape (n_source,)
        Labels, 0 or 1, and weights of source rows.
    bags : BagShares
    costs : ndarray of shape (n_bags,)
        Factor :math:`C_k` on the term of every bag.
    n_more : int, default=0
        How many rows follow those in bags.

    Returns
    -------
    SquaredSums
        Of the scores of source rows, rows in bags and the others.

    Notes
    -----
    With :math:`s` the sum over the source, :math:`t_k` those of the bags and :math:`\bar t` their
    mean by cost, :math:`\sum_k C_k (s - t_k)^2 = C\,\bigl((s - \bar t)^2 - \bar t^2\bigr)
    + \sum_k C_k t_k^2` for :math:`C = \sum_k C_k`: few rows of the matrix are dense.
    """
    n_source, n_bags, total = len(source_labels), len(bags.shares), float(costs.sum())
    n_in_bags = int(bags.sizes.sum())
    of_bag = np.repeat(np.arange(n_bags), bags.sizes)
    parts: list[Any] = []
    factors: list[Any] = []
    for labels, shares in ((source_labels, bags.shares), (1 - source_labels, 1 - bags.shares)):
        of_row = bags.spread(shares / bags.sizes)
        means = sparse.csr_array(
            (of_row, (of_bag, np.arange(n_in_bags))), shape=(n_bags, n_in_bags)
        )
        of_source = labels * source_weight / source_weight.sum()
        average = (costs / total) @ means
        parts += [
            sparse.hstack([sparse.csr_array((n_bags, n_source)), means]),
            np.concatenate([of_source, -average])[None],
            np.concatenate([np.zeros(n_source), average])[None],
        ]
        factors += [costs, [total], [-total]]
    sums = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    more = sparse.csr_array((sums.shape[0], n_more))
    return SquaredSums(sparse.hstack([sums, more], format="csr"), np.concatenate(factors))


def _domain_term(ready: Prepared, cost: float) -> SquaredSums:
    """Return the domain term of prepared data."""
    data, rows = ready.data, ready.rows
    n_bags = rows.n_true_bags
    return domain_term(
        0.5 * (1.0 + data.source_signs),
        data.source_weight,
        BagShares.of_sizes(rows.bags.sizes[:n_bags], rows.bags.shares[:n_bags]),
        cost * rows.weights[:n_bags],
        n_more=rows.n_bags - n_bags,
    )
