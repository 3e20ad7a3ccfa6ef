# SPDX-License-Identifier: BSD-3-Clause
r"""The support vector machine with log odds for scores.

Platt's sigmoid (:mod:`bagshift.estimators.sigmoid_calibrator`) is fitted to scores of rows that
were held out, and the machine is rescaled so that its scores are the log odds.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagshift.estimators._base import SigmoidProbabilities
from bagshift.estimators._clusters import canonical_order
from bagshift.estimators.sigmoid_calibrator import fit_sigmoid
from bagshift.estimators.source_svm import SourceSVM

Floats = NDArray[np.float64]

_MOST_FOLDS = 3


class CalibratedSVM(SigmoidProbabilities, SourceSVM):
    """Support vector machine on labelled rows whose scores are log odds."""

    def fit(
        self, X: Any, y: Any, *, source: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train the machine on labels, and its sigmoid on scores of held-out rows.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels.
        source : None
            Not used.
        sample_weight : array-like of shape (n_rows,), optional
            Factors on the loss of each row.

        Returns
        -------
        self
        """
        super().fit(X, y, source=source, sample_weight=sample_weight)
        is_second = np.asarray(y) == self.classes_[1]
        weight = np.ones(len(is_second)) if sample_weight is None else np.asarray(sample_weight)
        own = self._scores(X)
        held_out = self._held_out(X, is_second, weight)
        sigmoid = fit_sigmoid(own if held_out is None else held_out, is_second, weight)
        if sigmoid.slope <= 0:
            # So few rows that each fold misleads: rather too sure than the wrong way round.
            sigmoid = fit_sigmoid(own, is_second, weight)
        for name in ("coef_", "dual_coef_"):
            if hasattr(self, name):
                setattr(self, name, sigmoid.slope * getattr(self, name))
        self.intercept_ = sigmoid.log_odds(self.intercept_)
        return self

    def _held_out(self, X: Any, is_second: NDArray[np.bool_], weight: Floats) -> Floats | None:
        """Return scores of rows by machines trained without them; None when rows are too few."""
        n_folds = min(_MOST_FOLDS, int(is_second.sum()), int((~is_second).sum()))
        if n_folds < 2:
            return None
        fold = _deal(X, is_second, n_folds)
        scores = np.empty(len(fold))
        for number in range(n_folds):
            kept, left = fold != number, fold == number
            part = SourceSVM(**self.get_params(deep=False))
            part.fit(X[kept], is_second[kept].astype(np.int64), sample_weight=weight[kept])
            scores[left] = part._scores(X[left])
        return scores


def _deal(X: Any, is_second: NDArray[np.bool_], n_folds: int) -> NDArray[np.intp]:
    """Deal the rows of each class to folds, whatever their order."""
    fold = np.empty(len(is_second), dtype=np.intp)
    order = canonical_order(X)
    for of_class in (order[is_second[order]], order[~is_second[order]]):
        fold[of_class] = np.arange(len(of_class)) % n_folds
    return fold
