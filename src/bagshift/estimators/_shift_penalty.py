# SPDX-License-Identifier: BSD-3-Clause
"""Support vector machines on the source that are charged for telling the domains apart.

Their penalty is quadratic in the weights, so it is part of the norm: each is an ordinary support
vector machine with another kernel, which depends on the rows of both domains.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from bagshift.estimators._base import BagTags
from bagshift.estimators._coupled import CoupledMachine, labelled_rows_problem
from bagshift.estimators._training import TrainingData, require_one_history
from bagshift.kernels import Kernel
from bagshift.solvers import CoupledProblem, CoupledResult

Floats = NDArray[np.float64]

# Means or scatters that differ by less than this many units in the last place are equal.
_UNITS_OF_ROUNDING = 64.0


@dataclass(frozen=True, eq=False)
class ExpandedResult(CoupledResult):
    """Solution in another kernel, written in the one that was asked for.

    Attributes
    ----------
    of_rows : ndarray of shape (n_source + n_target,)
        Coefficients of the rows of both domains in the decision function.
    mean_distance : float
        Distance of the domains' means in feature space.
    projected_distance : float
        Distance of the domains' mean scores.
    """

    of_rows: Floats
    mean_distance: float
    projected_distance: float

    @classmethod
    def of(cls, result: CoupledResult, **what_else: Any) -> Self:
        """Return a result with what belongs to the kernel that was asked for."""
        return cls(**vars(result), **what_else)


class ShiftPenaltyMachine(CoupledMachine):
    """Base of machines with the hinge loss on the source and a penalty on the shift."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CoupledMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="left")],
    }
    _is_one_program: ClassVar[bool] = False

    @abstractmethod
    def _train_on_both(self, data: TrainingData, kernel: Kernel) -> ExpandedResult:
        """Return the solution with rows of both domains at hand."""

    def _select(self, data: TrainingData) -> TrainingData:
        require_one_history(data, type(self).__name__)
        return data

    def _problem(self, data: TrainingData, gram: NDArray[Any]) -> CoupledProblem:
        return labelled_rows_problem(data, gram, self.C)

    def _train(self, data: TrainingData, kernel: Kernel) -> CoupledResult:
        if not data.n_source:
            return super()._train(data, kernel)
        return self._train_on_both(data, kernel)

    def _coefficients(self, data: TrainingData, result: Any) -> Floats:
        if not isinstance(result, ExpandedResult):
            return super()._coefficients(data, result)
        return result.of_rows

    def _store(self, data: TrainingData, kernel: Kernel, result: Any) -> None:
        super()._store(data, kernel, result)
        if isinstance(result, ExpandedResult):
            self.mean_distance_ = result.mean_distance
            self.projected_distance_ = result.projected_distance

    def _bag_tags(self) -> BagTags:
        return BagTags(
            uses_source=True,
            needs_source=True,
            uses_bags=False,
            uses_unlabelled_rows=True,
            uses_target_labels=False,
        )


def is_rounding(squared: float, scale: float, dtype: np.dtype[Any] | type = np.float64) -> bool:
    """Tell whether a square that is a difference of larger numbers may as well be zero.

    Parameters
    ----------
    squared : float
        The difference.
    scale : float
        Size of the numbers that it is a difference of.
    dtype : dtype, default=float64
        Their precision.

    Returns
    -------
    bool
    """
    return bool(squared <= _UNITS_OF_ROUNDING * float(np.finfo(dtype).eps) * scale)
