# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers whose scores are log odds, linear on the features of a kernel."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from bagshift.bags import Bags
from bagshift.estimators._base import SigmoidProbabilities
from bagshift.estimators._feature_space import (
    ColumnScale,
    FeatureSpace,
    column_scale,
    feature_space,
)
from bagshift.estimators._in_bags import InBagPosteriors, mean_count_log_likelihood
from bagshift.estimators._kernel_machine import KernelMachine
from bagshift.estimators._training import TrainingData, require_two_classes
from bagshift.kernels import Kernel

Floats = NDArray[np.float64]


class LogisticMachine(SigmoidProbabilities, InBagPosteriors, KernelMachine):
    """Base of machines with probability sigma(score) that are trained on a feature space.

    Columns that were standardised are so again when rows are scored; with a linear kernel that
    is folded into ``coef_`` and ``intercept_``. Subclasses have the parameters of the kernel,
    ``standardize``, ``n_components`` and ``random_state``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "kernel": [StrOptions({"auto", "linear", "rbf", "poly", "precomputed"}), callable],
        "standardize": [StrOptions({"auto"}), "boolean"],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _check_learnable(self, data: TrainingData) -> None:
        """Refuse data that this machine cannot learn from; a search asks before it begins."""
        if not data.n_target_units and data.n_source:
            raise ValueError(
                f"{type(self).__name__} needs bags or labelled rows of the target beside the "
                "source; to learn from the source alone, fit it to the source as plain labels."
            )
        if not data.n_target_units:
            raise ValueError("There is nothing to learn from: no row is in a bag or has a label.")
        require_two_classes(data)

    def _column_scale(self, data: TrainingData) -> ColumnScale | None:
        if self.kernel == "precomputed":
            return None
        return column_scale(data, self.standardize)

    def _kernel(self, data: TrainingData) -> Kernel:
        if self.kernel != "auto":
            return super()._kernel(data)
        name = "linear" if sparse.issparse(data.X_target) else "rbf"
        return type(self)(kernel=name, gamma=self.gamma)._kernel(data)

    def _space(self, data: TrainingData) -> FeatureSpace:
        return feature_space(
            self._kernel(data),
            data,
            n_components=self.n_components,
            random_state=self.random_state,
        )

    def _expansion(self, X: Any, prefix: str) -> Floats:
        if hasattr(self, "feature_scale_"):
            X = ColumnScale(self.feature_center_, self.feature_scale_).apply(X)
        return super()._expansion(X, prefix)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return accuracy on labels, or the mean log-likelihood of the counts of bags.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows to classify.
        y : labels of shape (n_rows,) or Bags
            True labels, or bags with known shares; source rows inside bags are left out.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, with labels only.

        Returns
        -------
        float
            Greater is better. On bags it is the mean over bags of log P(published number), by
            the weights of the bags; fair only on bags that were held out.

        Raises
        ------
        BagError
            When a bag was cut, or no row is in a bag.
        """
        if not isinstance(y, Bags):
            return super().score(X, y, sample_weight)
        if sample_weight is not None:
            raise ValueError("sample_weight goes with labels; weigh bags in Bags.from_arrays.")
        return mean_count_log_likelihood(self, X, y)
