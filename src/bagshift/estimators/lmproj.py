# SPDX-License-Identifier: BSD-3-Clause
r"""LMPROJ, a large margin between the classes and a small one between the domains.

A support vector machine on the source that is charged for the distance of the two domains' mean
scores [1]_. With :math:`\delta = \mu_s - \mu_t`, the difference of the domains' means in feature
space, that distance is :math:`|w^\top\delta|` (the bias cancels), and the problem is

.. math::

    \min_{w, b}\ \tfrac12\|w\|^2 + C\sum_i \omega_i\,[1 - y_i(w^\top\varphi(x_i) + b)]_+
    + \lambda\,(w^\top\delta)^2 .

Because :math:`\tfrac12\|w\|^2 + \lambda(w^\top\delta)^2 =
\tfrac12 w^\top(I + 2\lambda\delta\delta^\top)w`, it is exactly an ordinary support vector machine
with the kernel

.. math::

    \tilde\kappa(u, v) = \kappa(u, v) - \frac{2\lambda}{1 + 2\lambda\|\delta\|^2}\,g(u)\,g(v),
    \qquad g(u) = \varphi(u)^\top\delta
    = \frac{1}{\sum_i\omega_i}\sum_i \omega_i\kappa(u, x_i) - \frac1N\sum_j \kappa(u, z_j)

(Sherman and Morrison), which is positive semidefinite for every :math:`\lambda \ge 0`; as
:math:`\lambda \to \infty` the direction :math:`\delta` is projected out. The decision function is
then written in the kernel :math:`\kappa` itself, over the rows of both domains. The constants of
[1]_ may differ: it was not at hand, and those above are ours.

References
----------
.. [1] B. Quanz, J. Huan. Large margin transductive transfer learning. CIKM 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from bagshift.estimators._coupled import finite_gram, row_coefficients
from bagshift.estimators._shift_penalty import ExpandedResult, ShiftPenaltyMachine, is_rounding
from bagshift.estimators._training import TrainingData
from bagshift.estimators.tgplm_plus import products
from bagshift.kernels import TILE_ROWS, Kernel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _TargetAsOneUnit(TrainingData):
    """Training data whose only target unit is the mean of all target rows."""

    @classmethod
    def of(cls, given: TrainingData) -> Self:
        """Return the same rows in these units."""
        return cls(**given.entries())

    @property
    def n_target_units(self) -> int:
        return 1

    @property
    def unit_of_row(self) -> NDArray[np.intp]:
        return np.zeros(len(self.bags), dtype=np.intp)


class LMPROJ(ShiftPenaltyMachine):
    r"""Support vector machine on the source with a penalty on the distance of mean scores.

    Needs labelled history and unlabelled target rows; shares, where there are some, are not
    used. The problem solved stands in the module :mod:`bagshift.estimators.lmproj`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of slack of a source row; multiplies a sum.
    penalty : float, default=1.0
        Factor on the squared distance of the domains' mean scores, in units of the squared
        distance of their means in feature space: :math:`\lambda\|\delta\|^2`, so that it means
        the same for every kernel and scale. Weights along the difference cost 1 + 2 * penalty
        times as much as others; 0 is the support vector machine, ``numpy.inf`` allows no
        difference at all. The unit and the default are ours, and so is a grid: 0, and 0.01 to
        100,000 by tens.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel between rows. "precomputed" takes rows of the kernel matrix of all training rows,
        source rows first.
    gamma : {"scale", "paper"} or float, default="scale"
        Coefficient of "rbf" and "poly": 1 / (n_features * X.var()) of both domains stacked, 1
        over the squared mean norm of the source rows, or the number given.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly".
    tol : float, default=1e-3
        The solver stops when the optimality conditions hold within this many units of score.
    max_iter : int, default=-1
        Limit on the solver's iterations; -1 is none.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both classes, sorted; scores grow towards the second.
    positive_class_ : label
        The class that shares are of.
    intercept_ : ndarray of shape (1,)
        Bias.
    intercept_interval_ : tuple of float
        All biases that are optimal with the weights found.
    coef_ : ndarray of shape (1, n_features)
        Weights, with a linear kernel only.
    support_vectors_ : matrix of shape (n_support, n_features)
        Training rows that the decision function is expanded on, with other kernels: those of
        both domains.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients on them.
    kernel_ : Kernel
        The kernel with its numbers filled in.
    mean_distance_ : float
        :math:`\|\delta\|`, the distance of the domains' means in feature space; with a source.
    projected_distance_ : float
        :math:`|w^\top\delta|`, the distance of their mean scores; with a source.
    n_iter_ : int
        Iterations of the solver.
    objective_ : float
        Value of the primal problem, penalty included.
    dual_gap_ : float
        Primal minus dual value; an upper bound on the distance to the optimum.
    converged_ : bool
        Whether the solver reached ``tol``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when X was a frame with string names.

    See Also
    --------
    DAKSVM : Penalises a difference of the scatters too.
    SourceSVM : The same machine without a penalty.

    Notes
    -----
    Where the classes are mixed otherwise in the target than in the source, the means differ along
    the very direction that tells the classes apart, and a penalty takes signal away.

    With plain labels and no source there is no second domain, and the machine is the ordinary
    support vector machine. Scores of a hinge loss are no logits, so it offers no probabilities.

    References
    ----------
    B. Quanz, J. Huan. Large margin transductive transfer learning. CIKM 2009. Not at hand: the
    problem is as remembered, and its constants are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from bagshift import LMPROJ
    >>> rng = np.random.default_rng(0)
    >>> y, labels = np.arange(200) % 2, np.arange(100) % 2
    >>> history = rng.normal(size=(200, 2)) + np.outer(y, [2.0, 2.0])
    >>> X = rng.normal(size=(100, 2)) + np.outer(labels, [2.0, 2.0]) + [0.0, 4.0]
    >>> plain = LMPROJ(kernel="linear", penalty=0.0).fit(X, None, source=(history, y))
    >>> aligned = LMPROJ(kernel="linear", penalty=np.inf).fit(X, None, source=(history, y))
    >>> bool(plain.score(X, labels) < 0.6 < 0.7 < aligned.score(X, labels))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ShiftPenaltyMachine._parameter_constraints,
        "penalty": [Interval(Real, 0.0, None, closed="both")],
    }

    def __init__(
        self,
        C: float = 1.0,
        penalty: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def _train_on_both(self, data: TrainingData, kernel: Kernel) -> ExpandedResult:
        units = _TargetAsOneUnit.of(data)
        gram, n = finite_gram(kernel, units), data.n_source
        difference = np.append(data.source_weight / data.source_weight.sum(), -1.0)
        along = products(gram, difference)
        squared = float(difference @ along)
        if is_rounding(squared, float(np.diagonal(gram).mean()), gram.dtype):
            along, squared = np.zeros_like(along), 0.0
        factor = _shrinkage(self.penalty) / squared if squared > 0 else 0.0
        deflate(gram[:n, :n], np.sqrt(factor) * along[:n])
        result = self._solve_exactly(self._problem(data.source_as_labelled(), gram[:n, :n]))
        # The weights are (I - factor δδ') u with u the sum over support rows.
        slope = float(along[:n] @ result.dual)
        expansion = np.append(result.dual, 0.0) - factor * slope * difference
        return ExpandedResult.of(
            result,
            of_rows=row_coefficients(expansion, units),
            mean_distance=float(np.sqrt(squared)),
            projected_distance=abs(slope) * (1.0 - factor * squared),
        )


def _shrinkage(penalty: float) -> float:
    """Return the part of the weights along the shift that a penalty takes away."""
    return 1.0 / (1.0 + 0.5 / penalty) if penalty > 0 else 0.0


def deflate(gram: NDArray[Any], along: Floats) -> None:
    """Subtract the products of a vector's entries from a kernel matrix, in place.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Changed in place; stays symmetric.
    along : ndarray of shape (n,)
    """
    along = along.astype(gram.dtype)
    for first in range(0, len(along), TILE_ROWS):
        rows = slice(first, first + TILE_ROWS)
        gram[rows] -= np.outer(along[rows], along)
