# SPDX-License-Identifier: BSD-3-Clause
r"""Named grids of parameters, in units that mean the same on any data.

A cost :math:`C` multiplies a sum of losses, so the same number says more on more rows and on
longer feature vectors. The grids are therefore written as

.. math:: c = C\,\cdot\,\text{number of terms}\,\cdot\,\overline{\kappa(x, x)},

the weight of the *mean* loss against a regulariser measured with a kernel of mean diagonal one,
and are turned into :math:`C` when the data are known. The number of terms is that of the source
rows for ``C_source``, of bags and labelled target rows for ``C_target``. Widths of the RBF kernel
are multiples of gamma "scale", 1 / (n_features * X.var()), over the rows of both domains.

One thing stays tied to the scale of the features: TGPLM couples the intercepts as if they were
weights of a feature that is constantly one, so with a linear kernel a coupling means more for the
intercepts of long feature vectors than for those of short ones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bagshift.estimators import TGPLM, SourceSVM
from bagshift.estimators._coupled import CoupledMachine
from bagshift.estimators._training import TrainingData

Grid = dict[str, list[Any]]


@dataclass(frozen=True)
class _Axes:
    """A named grid in data-free units: multiples of gamma "scale", weights of mean losses."""

    widths: list[float]
    source_weights: list[float]
    target_weights: list[float]
    couplings: list[float]


_AXES = {
    "quick": _Axes(
        widths=[4.0, 1.0, 0.25],
        source_weights=[150.0, 1200.0],
        target_weights=[50.0, 400.0, 3200.0],
        couplings=[2.0**-6, 2.0**-3, 1.0, 8.0, 64.0],
    ),
    "full": _Axes(
        widths=[16.0, 4.0, 1.0, 2.0**-2, 2.0**-4],
        source_weights=[75.0, 300.0, 1200.0, 4800.0],
        target_weights=[12.5, 50.0, 200.0, 800.0, 3200.0, 12800.0],
        couplings=[2.0**-8, 2.0**-6, 2.0**-3, 1.0, 8.0, 64.0, 512.0],
    ),
}


def named_grid(name: str, machine: CoupledMachine, data: TrainingData) -> Grid:
    """Return a named grid for a machine and its training data.

    Parameters
    ----------
    name : {"quick", "full"}
        "quick" has 3 widths x 2 `C_source` x 3 `C_target` x 5 couplings, "full" about ten times
        as many settings. Machines without one of these parameters, kernels other than RBF (no
        widths) and data without a source (no `C_source`, no coupling) lose that axis.
    machine : TGPLM, InverseCalibrationSVM or SourceSVM
    data : TrainingData
        What the machine will be trained on.

    Returns
    -------
    dict of str to list
        Values per parameter, as ``ParameterGrid`` takes them.

    Raises
    ------
    ValueError
        If there is no grid of that name.
    """
    if name not in _AXES:
        raise ValueError(f"grid must be one of {sorted(_AXES)} or a dict; got {name!r}.")
    axes = _AXES[name]
    grid: Grid = {}
    if machine.kernel == "rbf":
        scale = clone(machine).set_params(gamma="scale")._kernel(data).gamma
        grid["gamma"] = [width * scale for width in axes.widths]
    diagonal = _mean_diagonal(machine, data)
    target_costs = _costs(axes.target_weights, data.n_target_units, diagonal)
    if isinstance(machine, TGPLM):
        grid["C_target"] = target_costs
        if data.n_source:
            grid["C_source"] = _costs(axes.source_weights, data.n_source, diagonal)
            grid["coupling"] = list(axes.couplings)
    elif isinstance(machine, SourceSVM):
        grid["C"] = _costs(axes.source_weights, data.n_target_units, diagonal)
    else:
        grid["C"] = target_costs
    return grid


def _costs(weights: list[float], n_terms: int, mean_diagonal: float) -> list[float]:
    return [weight / (max(n_terms, 1) * mean_diagonal) for weight in weights]


def _mean_diagonal(machine: CoupledMachine, data: TrainingData) -> float:
    """Return the mean of the kernel of each training row with itself."""
    parts = [X for X in (data.X_source, data.X_target) if X is not None]
    if machine.kernel == "precomputed":
        # Columns are the source rows, then the target rows.
        first = np.cumsum([0, *(X.shape[0] for X in parts)])
        diagonals = [_diagonal_from(X, k) for X, k in zip(parts, first, strict=False)]
    else:
        kernel = machine._kernel(data)
        diagonals = [kernel.diagonal(X) for X in parts]
    mean = float(np.concatenate(diagonals).mean())
    return mean if mean > 0 else 1.0


def _diagonal_from(matrix: Any, first_column: int) -> NDArray[Any]:
    rows = np.arange(matrix.shape[0])
    return np.asarray(matrix[rows, first_column + rows]).ravel()
