# SPDX-License-Identifier: BSD-3-Clause
r"""EasyLLP: an unbiased estimate of the loss of the labels, from the shares of random bags.

Where bags are random draws from one population with the share :math:`\pi` of positives, a bag of
:math:`K_k` rows with the share :math:`p_k` says of each of its rows that on average

.. math:: \mathrm E\,[\,t_k \mid z_j, y_j] = [y_j = 1], \qquad t_k = K_k (p_k - \pi) + \pi,

since the other :math:`K_k - 1` rows have the share :math:`\pi` on average. With :math:`t_k` for
the label and :math:`1 - t_k` for the other one, any loss of labels is estimated without bias [1]_;
for the log loss of a linear machine

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2
    + C \sum_k \omega_k \sum_{j \in S_k} \bigl[t_k \log(1 + e^{-f_j})
    + (1 - t_k) \log(1 + e^{f_j})\bigr], \qquad f_j = w^\top z_j + b,

which is logistic regression on the real targets :math:`t_k`, and convex: the sum of both factors
is one. But :math:`t_k` strays from [0, 1] by about :math:`\sqrt{K_k}`; one of the factors is
negative then, and the machine can make the loss as negative as its weights allow. Three ways:

* leave it to :math:`C`, as above;
* *clip*: the targets nearest to :math:`t_k` that lie in [0, 1] and keep the overall number of
  positives, :math:`\mathrm{clip}(t_k + \theta)` with :math:`\theta` such that they do (ours);
* *flood* [2]_: with the loss per row :math:`\hat R`, minimise
  :math:`|\hat R - \beta| + \beta` in its place. Where the loss would fall below :math:`\beta`, the
  minimum lies at :math:`\hat R = \beta`: it is the machine of least weight with a loss of at most
  :math:`\beta`, since :math:`\hat R` is convex, and so that of a smaller :math:`C`, which is found
  here.

The overall share :math:`\pi` is estimated such that the number of positives stays what the shares
say, :math:`\sum_k \omega_k m_k t_k = \sum_k \omega_k m_k p_k` for :math:`m_k` rows at hand: the
mean of the shares with weights :math:`\omega_k m_k (K_k - 1)`, without bias too. Then the problem
has a minimum whatever the sizes of the bags.

References
----------
.. [1] R. Busa-Fekete, H. Choi, T. Dick, C. Gentile, A. Munoz Medina. Easy learning from label
   proportions. Advances in Neural Information Processing Systems 36, 2023.
.. [2] T. Ishida, I. Yamane, T. Sakai, G. Niu, M. Sugiyama. Do we need zero training loss after
   achieving zero training error? International Conference on Machine Learning, 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._linear_head import LinearHead, Prepared, Trained
from bagshift.estimators._logistic_machine import LogisticMachine
from bagshift.estimators._target_rows import TargetRows
from bagshift.exceptions import BagError
from bagshift.solvers.linear_heads import HeadResult, solve_targeted_logistic
from bagshift.solvers.score_losses import TargetedLogistic

Floats = NDArray[np.float64]

# Relative error of the cost that meets the flood level, and its smallest part of C.
_COST_ERROR = 1e-12
_SMALLEST_COST = 1e-12


class EasyLLP(LinearHead):
    r"""Logistic classifier from an unbiased estimate of the loss of unseen labels.

    Learns from bags of target rows with known shares alone, which must be random draws. The
    problem solved stands in the module :mod:`bagshift.estimators.easy_llp`.

    Parameters
    ----------
    C : float, default=1.0
        Factor on the log loss of each row, which is a sum.
    prior : float or None, default=None
        Share :math:`\pi` of the positive class, the one that shares are of, in the population
        that bags are drawn from; None estimates it from the bags.
    correction : {None, "clip", "flood"}, default=None
        What is done about negative factors: nothing, targets in [0, 1], or a loss that is kept
        from falling below `flood_level`.
    flood_level : float, default=0.0
        Level :math:`\beta` of the loss per row, in nats, with ``correction="flood"``. The log loss
        of labels is positive, so that any lower one is an error of the estimate.
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
    prior_ : float
        The share :math:`\pi` that was used, of ``positive_class_``.
    effective_C_ : float
        The cost whose machine was taken; below `C` where flooding was at work.
    negative_share_ : float
        Share of the rows, by weight, with a negative factor before any correction.
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
        Value of the problem with the effective cost.
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
        In ``fit``, when with a given `prior`, and without clipping, the loss has no minimum.

    See Also
    --------
    MeanMap : Another choice of real targets, for bags that need not be random.
    ProportionMatching : A loss of the mean probability of a bag.

    Notes
    -----
    Wrong for bags that were made by features, such as regions: their other rows do not have the
    share :math:`\pi` on average. The variance of the estimate grows with the bag size. A declared
    size larger than the rows at hand is the size that the share speaks about. Noise laws of
    shares play no part: a noisy share is clipped to [0, 1].

    References
    ----------
    R. Busa-Fekete, H. Choi, T. Dick, C. Gentile, A. Munoz Medina, Easy learning from label
    proportions, NeurIPS 2023. The formula was seen in public code of others; its unbiasedness is
    checked here by enumeration of labels. Clipping that keeps the number of positives, and the
    estimate of the prior, are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import Bags, EasyLLP
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(400) < 0.4).astype(int)  # never shown to the machine
    >>> X = rng.normal(size=(400, 2)) + 2.0 * labels[:, None]
    >>> ids = np.repeat(np.arange(100), 4)
    >>> bags = Bags.from_arrays(ids, {k: labels[ids == k].mean() for k in range(100)})
    >>> machine = EasyLLP(kernel="linear").fit(X, bags)
    >>> bool(np.isclose(machine.predict_proba(X)[:, 1].mean(), labels.mean()))
    True
    >>> bool(machine.score(X, labels) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LogisticMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "prior": [None, Interval(Real, 0.0, 1.0, closed="neither")],
        "correction": [None, StrOptions({"clip", "flood"})],
        "flood_level": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        prior: float | None = None,
        correction: str | None = None,
        flood_level: float = 0.0,
        kernel: Any = "auto",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: Any = "auto",
        n_components: int | None = 1000,
        tol: float = 1e-10,
        max_iter: int = 500,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.prior = prior
        self.correction = correction
        self.flood_level = flood_level
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
            Rows in bags, dense or CSR.
        y : Bags or array-like of shape (n_rows,)
            Bags of the rows; plain labels make it logistic regression.
        source : None
            Refused: this machine learns from bags alone.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the loss of each row, with plain labels only.

        Returns
        -------
        self
            The fitted machine.

        Raises
        ------
        BagError
            When a bag was cut, or a given `prior` leaves the loss without a minimum.
        KernelMemoryError
            When the features of the kernel would not fit into memory.
        ValueError
            When a source is given, or the arguments do not fit together.

        Warns
        -----
        ConvergenceWarning
            When the optimiser stopped before its end.
        """
        return super().fit(X, y, source=source, sample_weight=sample_weight)

    def _train(self, ready: Prepared) -> Trained:
        rows, is_flipped = ready.rows, ready.data.is_flipped
        # Targets are of classes[1], the prior of the user is of the positive class.
        given = None if self.prior is None else of_positive(float(self.prior), is_flipped)
        prior = estimated_prior(rows) if given is None else given
        by_bag = debiased_targets(rows.bags.shares, rows.declared_sizes, prior)
        mass = rows.weights * rows.bags.sizes
        facts: dict[str, Any] = {
            "prior_": of_positive(prior, is_flipped),
            "negative_share_": float(np.average((by_bag < 0.0) | (by_bag > 1.0), weights=mass)),
        }
        if self.correction == "clip":
            by_bag = clipped_targets(by_bag, mass, rows.overall_share)
        else:
            level = float(np.average(by_bag, weights=mass))
            _check_level(of_positive(level, is_flipped), of_positive(prior, is_flipped))
        targets = rows.bags.spread(by_bag)
        result, cost = self._solve(ready.target_features, targets, rows.row_weights)
        return Trained(result, {**facts, "effective_C_": cost})

    def _solve(self, features: Any, targets: Floats, weights: Floats) -> tuple[HeadResult, float]:
        """Return the machine and the cost that it is of."""

        def solve(cost: float) -> HeadResult:
            return solve_targeted_logistic(
                features, targets, cost * weights, tol=self.tol, max_iter=self.max_iter
            )

        result = solve(self.C)
        if self.correction != "flood" or not result.converged:
            return result, float(self.C)
        loss = TargetedLogistic(targets, weights / weights.sum())

        def above_flood(end: HeadResult) -> float:
            machines = end.machines
            scores = features @ machines.target_weights + machines.target_intercept
            return loss.at(scores).value - self.flood_level

        if above_flood(result) >= 0.0:
            return result, float(self.C)
        return _at_flood_level(solve, above_flood, float(self.C))

    def _bag_tags(self) -> BagTags:
        return BagTags()


# Targets ----------------------------------------------------------------------------------


def debiased_targets(shares: Floats, sizes: Floats, prior: float) -> Floats:
    r"""Return :math:`K_k (p_k - \pi) + \pi` of every bag.

    Parameters
    ----------
    shares, sizes : ndarray of shape (n_bags,)
        Share of positives, and how many individuals it speaks about.
    prior : float
        Share in the population.

    Returns
    -------
    ndarray of shape (n_bags,)

    Examples
    --------
    >>> debiased_targets(np.array([0.5, 0.75]), np.array([4.0, 4.0]), 0.5)
    array([0.5, 1.5])
    """
    return np.asarray(sizes * (shares - prior) + prior)


def of_positive(share: float, is_flipped: bool) -> float:
    """Turn a share of ``classes[1]`` into one of the positive class, or back.

    Parameters
    ----------
    share : float
    is_flipped : bool
        Whether the positive class is ``classes[0]``.

    Returns
    -------
    float
    """
    return 1.0 - share if is_flipped else share


def estimated_prior(rows: TargetRows) -> float:
    """Return the prior with which the targets add up to the number of positives.

    Parameters
    ----------
    rows : TargetRows

    Returns
    -------
    float
        Where all bags are single rows, it plays no part, and is their mean.
    """
    weights = rows.weights * rows.bags.sizes * (rows.declared_sizes - 1.0)
    if not np.any(weights > 0.0):
        return rows.overall_share
    return float(np.average(rows.bags.shares, weights=weights))


def clipped_targets(targets: Floats, mass: Floats, mean: float) -> Floats:
    """Return the nearest targets in [0, 1] of a given mean.

    Parameters
    ----------
    targets : ndarray of shape (n_bags,)
    mass : ndarray of shape (n_bags,)
        Weight of every bag, in the mean and in the distance.
    mean : float
        Strictly between 0 and 1.

    Returns
    -------
    ndarray of shape (n_bags,)

    Examples
    --------
    >>> clipped_targets(np.array([-1.0, 0.5, 2.0]), np.ones(3), 0.6).round(3)
    array([0. , 0.8, 1. ])
    """

    def surplus(shift: float) -> float:
        clipped = np.clip(targets + shift, 0.0, 1.0)
        return float(np.average(clipped, weights=mass)) - mean

    shift = brentq(surplus, -float(targets.max()), 1.0 - float(targets.min()), xtol=1e-14)
    return np.asarray(np.clip(targets + shift, 0.0, 1.0))


def _check_level(mean_target: float, prior: float) -> None:
    if 0.0 < mean_target < 1.0:
        return
    raise BagError(
        f"with prior={prior:.4g} the targets of the rows have the mean {mean_target:.3g}, outside "
        'of 0 to 1, so that the loss has no minimum: leave prior=None, or use correction="clip", '
        "which keep it inside."
    )


# Flooding ---------------------------------------------------------------------------------


def _at_flood_level(
    solve: Callable[[float], HeadResult], above_flood: Callable[[HeadResult], float], cost: float
) -> tuple[HeadResult, float]:
    """Return the machine of a smaller cost whose loss is the flood level, and that cost."""
    n_iter = 0

    def distance(log_cost: float) -> float:
        nonlocal n_iter
        end = solve(float(np.exp(log_cost)))
        n_iter += end.n_iter
        return above_flood(end)

    highest = np.log(cost)
    lowest = highest + np.log(_SMALLEST_COST)
    # A level above the loss of a constant machine asks for no weights at all.
    found = lowest
    if distance(lowest) > 0.0:
        found = brentq(distance, lowest, highest, rtol=_COST_ERROR, xtol=_COST_ERROR)
    result = solve(float(np.exp(found)))
    return replace(result, n_iter=result.n_iter + n_iter), float(np.exp(found))
