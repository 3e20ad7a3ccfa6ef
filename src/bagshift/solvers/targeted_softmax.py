# SPDX-License-Identifier: BSD-3-Clause
r"""Softmax regression on real targets.

.. math::

    \min_{W, b}\ \tfrac{C}{C - 1}\,\tfrac12\|W\|^2
    + \sum_j \omega_j \Bigl(\log\sum_c e^{f_{jc}} - \sum_c t_{jc} f_{jc}\Bigr),
    \qquad f_j = W z_j + b,

with targets that sum to 1 over the :math:`C` classes but may lie outside of [0, 1]. It is convex,
and of two classes the problem of :func:`bagshift.solvers.linear_heads.solve_targeted_logistic`
for the difference of the two scores, see :mod:`bagshift.solvers.coupled_softmax`, whose way it
goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bagshift.solvers._coordinates import typical_row_length
from bagshift.solvers._scored_rows import require_range
from bagshift.solvers._trust_region import minimise

__all__ = ["TargetedSoftmaxResult", "solve_targeted_softmax"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TargetedSoftmaxResult:
    """Solution of softmax regression.

    Parameters
    ----------
    weights : ndarray of shape (n_classes, n_features)
    intercepts : ndarray of shape (n_classes,)
    objective : float
        Value of the problem.
    gradient_norm : float
        Norm of its gradient in the coordinates that it was solved in.
    n_iter : int
        Trust region steps.
    converged : bool
        Whether the gradient, relative to the weights, came below the tolerance, or rounding left
        nothing to gain.
    """

    weights: Floats
    intercepts: Floats
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool


def solve_targeted_softmax(
    features: Any,
    targets: Floats,
    weights: Floats,
    *,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> TargetedSoftmaxResult:
    """Find the minimum of softmax regression on real targets.

    Parameters
    ----------
    features : matrix of shape (n_rows, n_features)
        Dense or CSR.
    targets : ndarray of shape (n_rows, n_classes)
        Rows sum to 1. The mean of each class, by weight, is above 0; else there is no minimum.
    weights : ndarray of shape (n_rows,)
        Factors on the loss of each row.
    tol : float, default=1e-8
        Norm of the gradient, relative to that of the weights, at which to stop.
    max_iter : int, default=500
        Limit on steps.

    Returns
    -------
    TargetedSoftmaxResult

    Raises
    ------
    ValueError
        When weights and features are so large that products of them are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1.0], [0.0], [1.0]])
    >>> result = solve_targeted_softmax(X, np.eye(3), np.ones(3))
    >>> result.weights.round(3).ravel()
    array([-0.47,  0.  ,  0.47])
    """
    require_range(float(weights.sum()), [features])
    row_length = typical_row_length([features])
    objective = _Objective(features, targets, weights, row_length)
    n_unknowns = targets.shape[1] * (features.shape[1] + 1)
    end = minimise(objective, np.zeros(n_unknowns), tol=tol, max_iter=max_iter)
    W, b = objective.split(end.point.v)
    return TargetedSoftmaxResult(
        weights=W / row_length,
        intercepts=b,
        objective=end.point.value / objective.factor,
        gradient_norm=float(np.linalg.norm(end.point.gradient)),
        n_iter=end.n_iter,
        converged=end.converged,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """The objective at one place, and its chances."""

    v: Floats
    value: float
    gradient: Floats
    chances: Floats


class _Objective:
    """Value, gradient and Hessian products; weights are in units of the length of a row."""

    def __init__(self, features: Any, targets: Floats, weights: Floats, row_length: float) -> None:
        n_classes = targets.shape[1]
        self.features = features.astype(np.float64, copy=False)
        self.targets, self.row_length = targets, row_length
        self.factor = row_length**2 * (n_classes - 1) / n_classes
        self.weights = self.factor * weights

    def split(self, v: Floats) -> tuple[Floats, Floats]:
        unknowns = v.reshape(self.targets.shape[1], -1)
        return unknowns[:, :-1], unknowns[:, -1]

    def _scores(self, v: Floats) -> Floats:
        W, b = self.split(v)
        return np.asarray(self.features @ (W.T / self.row_length) + b)

    def _pull_back(self, pull: Floats, v: Floats) -> Floats:
        """Return derivatives in the unknowns, with those of the penalty."""
        W, _ = self.split(v)
        of_weights = np.asarray(self.features.T @ pull).T / self.row_length + W
        return np.column_stack([of_weights, pull.sum(axis=0)]).ravel()

    def at(self, v: Floats) -> _Point:
        scores = self._scores(v)
        total = logsumexp(scores, axis=1)
        chances = np.exp(scores - total[:, None])
        W, _ = self.split(v)
        loss = self.weights @ (total - (self.targets * scores).sum(axis=1))
        pull = self.weights[:, None] * (chances - self.targets)
        return _Point(v, float(0.5 * (W**2).sum() + loss), self._pull_back(pull, v), chances)

    def hessian_product(self, point: _Point, direction: Floats) -> Floats:
        change, p = self._scores(direction), point.chances
        pushed = p * (change - (p * change).sum(axis=1, keepdims=True))
        return self._pull_back(self.weights[:, None] * pushed, direction)
