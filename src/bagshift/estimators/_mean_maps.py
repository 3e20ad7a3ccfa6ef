# SPDX-License-Identifier: BSD-3-Clause
r"""What mean maps share: from class means to a logistic regression without labels.

The logistic loss needs labels through their *mean operator* alone: with scores :math:`f_j`,
shares weighted into :math:`\hat\pi` and estimated class means :math:`\hat\mu_+, \hat\mu_-`,

.. math::

    \sum_j \log\bigl(1 + e^{-y_j f_j}\bigr)
    = \sum_j \log\bigl(e^{f_j/2} + e^{-f_j/2}\bigr) - \tfrac12 \sum_j y_j f_j,
    \qquad \tfrac1N \sum_j y_j z_j \approx
    \hat\mu_{xy} = \hat\pi \hat\mu_+ - (1 - \hat\pi) \hat\mu_- .

Every estimate of the class means here is linear in the bag means, :math:`\hat\mu_c = \sum_k
P_{ck} \bar z_k`. The mean operator is then :math:`\sum_k c_k \bar z_k` with :math:`c_k =
\hat\pi P_{+k} - (1 - \hat\pi) P_{-k}`, and the whole problem is logistic regression in which the
rows of a bag have the real target

.. math:: t_k = \tfrac12 + \frac{N c_k}{2 m_k}

in place of a label (:math:`m_k` rows in the bag; :math:`N` rows in all). It is convex. With bags
of one, the targets are the labels.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.estimators._base import BagTags
from bagshift.estimators._linear_head import LinearHead, Prepared, Trained
from bagshift.estimators._logistic_machine import LogisticMachine
from bagshift.estimators._target_rows import TargetRows
from bagshift.exceptions import BagError, BagWarning, warn_caller
from bagshift.solvers.linear_heads import HeadResult, Machines, solve_targeted_logistic

Floats = NDArray[np.float64]

# Shares that differ by less are equal.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class MeanMapTargets:
    """Targets of rows by a mean map.

    Attributes
    ----------
    of_classes : ndarray of shape (2, n_bags)
        Weights of the bag means in the class means.
    condition_number : float
    targets : ndarray of shape (n_rows,)
    """

    of_classes: Floats
    condition_number: float
    targets: Floats


class MeanMapMachine(LinearHead):
    """Base of mean maps: subclasses estimate the class means from the bag means."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LogisticMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "bag_weight": [StrOptions({"equal", "size"})],
    }

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate the class means, and train the machine.

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
            When a bag was cut, or all shares are equal.
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

    @abstractmethod
    def _class_weights(self, ready: Prepared, weights: Floats) -> tuple[Floats, float]:
        """Return weights of bag means in class means, and the condition number of their problem.

        The first has shape (2, n_bags) and rows that sum to one, ``classes_[0]`` first; `weights`
        are those of the bags, of mean one.
        """

    def _train(self, ready: Prepared) -> Trained:
        mean_map = self._mean_map(ready)
        result = self._refit(ready, mean_map.targets)
        return Trained(result, self._facts(ready, mean_map))

    def _mean_map(self, ready: Prepared) -> MeanMapTargets:
        """Return the targets of the rows, and what they came from."""
        rows = ready.rows
        _check_shares(type(self).__name__, rows)
        weights = bag_weights(rows, self.bag_weight)
        of_classes, condition = self._class_weights(ready, weights)
        mean_map = MeanMapTargets(of_classes, condition, targets_of(rows, of_classes, weights))
        _warn_if_unsteady(rows, mean_map)
        return mean_map

    def _refit(
        self, ready: Prepared, targets: Floats, start: Machines | None = None
    ) -> HeadResult:
        """Return the logistic regression on targets of the rows."""
        return solve_targeted_logistic(
            ready.target_features,
            targets,
            self.C * ready.rows.row_weights,
            start=start,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _facts(self, ready: Prepared, mean_map: MeanMapTargets) -> dict[str, Any]:
        """Return the fitted attributes of a mean map."""
        facts: dict[str, Any] = {"condition_number_": mean_map.condition_number}
        if ready.space.kernel.name == "linear":
            columns = ready.data.X_target[ready.rows.rows]
            means = np.asarray(mean_map.of_classes @ ready.rows.means(columns))
            scale = ready.scale
            facts["class_means_"] = means if scale is None else means * scale.scale + scale.center
        return facts

    def _bag_tags(self) -> BagTags:
        return BagTags()


def bag_weights(rows: TargetRows, rule: str) -> Floats:
    """Return the weights of bags in least squares, of mean one.

    Parameters
    ----------
    rows : TargetRows
    rule : {"size", "equal"}
        The variance of a bag mean falls with the number of its rows, which "size" allows for.

    Returns
    -------
    ndarray of shape (n_bags,)
    """
    weights = rows.weights * (rows.bags.sizes if rule == "size" else 1.0)
    return np.asarray(weights / weights.mean())


def least_squares_weights(shares: Floats, weights: Floats) -> tuple[Floats, float]:
    r"""Return the weights of bag means in the least-squares class means.

    Parameters
    ----------
    shares : ndarray of shape (n_bags,)
        Shares of the second class, not all equal.
    weights : ndarray of shape (n_bags,)
        Positive weights :math:`D`.

    Returns
    -------
    of_classes : ndarray of shape (2, n_bags)
        :math:`(\Pi^\top D\, \Pi)^{-1} \Pi^\top D`, the first class first; its rows sum to one.
    condition_number : float
        Of :math:`D^{1/2} \Pi`.

    Examples
    --------
    >>> import numpy as np
    >>> least_squares_weights(np.array([0.25, 0.75]), np.ones(2))[0].round(6)
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    root = np.sqrt(weights)
    mixture = root[:, None] * np.column_stack([1.0 - shares, shares])
    left, singular, right = np.linalg.svd(mixture, full_matrices=False)
    of_classes = (right.T / singular) @ left.T * root
    return of_classes, float(singular[0] / singular[1])


def targets_of(rows: TargetRows, of_classes: Floats, weights: Floats) -> Floats:
    """Return the targets of rows that stand for estimated class means.

    Parameters
    ----------
    rows : TargetRows
    of_classes : ndarray of shape (2, n_bags)
        Weights of the bag means in the class means.
    weights : ndarray of shape (n_bags,)
        Of the bags in the overall share.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    overall = float(np.average(rows.bags.shares, weights=weights))
    operator = overall * of_classes[1] - (1.0 - overall) * of_classes[0]
    in_bag = rows.weights * rows.bags.sizes
    return rows.bags.spread(0.5 + 0.5 * in_bag.sum() * operator / in_bag)


def _check_shares(name: str, rows: TargetRows) -> None:
    if np.ptp(rows.bags.shares) <= _EQUAL:
        raise BagError(
            f"{name} needs bags with at least two different shares, but all are "
            f"{rows.bags.shares[0]:.4g}: add bags with other shares, or labelled rows."
        )


def _warn_if_unsteady(rows: TargetRows, mean_map: MeanMapTargets) -> None:
    """Warn when the means of the classes are lost in the noise of the bag means.

    A bag mean of m rows errs by the spread of the rows over the root of m; the error of the
    difference of the class means follows from its weights. Where all labels are known there is
    nothing to unmix.
    """
    difference = mean_map.of_classes[1] - mean_map.of_classes[0]
    error = float(np.sqrt(np.sum(difference**2 / rows.bags.sizes)))
    is_unmixed = np.isin(rows.bags.shares, (0.0, 1.0)).all()
    if error > 1.0 and not is_unmixed:
        warn_caller(
            f"the shares differ so little (condition number {mean_map.condition_number:.3g}) that "
            f"the estimated difference of the class means errs by {error:.2g} times the spread of "
            "the rows: give more bags, or bags with shares further apart.",
            BagWarning,
        )
