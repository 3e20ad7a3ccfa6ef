# SPDX-License-Identifier: BSD-3-Clause
r"""Named grids of parameters, in units that mean the same on any data.

A cost :math:`C` multiplies a sum of losses, so the same number says more on more rows and on
longer feature vectors. The grids are therefore written as

.. math:: c = C\,\cdot\,\text{number of terms}\,\cdot\,\overline{\kappa(x, x)},

the weight of the *mean* loss against a regulariser measured with a kernel of mean diagonal one,
and are turned into :math:`C` when the data are known. The number of terms is that of the source
rows for ``C_source``, of bags and labelled target rows for ``C_target``, each counted by its
weight: a row of weight two is two rows. So data twice over, or a sample of them, are searched at
the same machines; that a share of 0 or 1 is clipped the closer to it the more rows there are
(``clip="auto"``, as in the paper) is all that still depends on their number. Widths of the RBF
kernel are multiples of gamma "scale", 1 / (n_features * X.var()), over the rows of both domains.

The grid "paper" is that of the paper [1]_, in its own units: costs as they are, and kernel widths
:math:`2\sigma^2` in multiples of the squared mean norm of the source rows (gamma "paper").

One thing stays tied to the scale of the features: TGPLM couples the intercepts as if they were
weights of a feature that is constantly one, so with a linear kernel a coupling means more for the
intercepts of long feature vectors than for those of short ones.

The count-likelihood machine needs no number of terms. Its loss is a log-likelihood, and

.. math:: v = C\,\cdot\,\overline{\kappa(x, x)},

the mean taken about the centre of the rows where the kernel is not RBF (whose rows are near no
centre), is the variance that a score has before anything was seen: a matter of how far apart the
classes are, not of how many rows there are, nor of noise on the counts. Its grids are in
:math:`v`.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.extmath import row_norms

from bagshift.estimators import TGPLM, SourceSVM
from bagshift.estimators._coupled import CoupledMachine, Loss
from bagshift.estimators._feature_space import standardize
from bagshift.estimators._scalable import ScalableMachine
from bagshift.estimators._training import TrainingData
from bagshift.estimators.count_likelihood import CountLikelihoodClassifier
from bagshift.kernels import Kernel, take_rows

Grid = dict[str, list[Any]]
Axes = TypeVar("Axes")


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

# Of the paper: 13 widths, 19 costs of each domain and 18 couplings.
_PAPER_GAMMAS = [2.0**k for k in range(-6, 7)]
PAPER_COSTS = [2.0**k for k in range(-8, 11)]
PAPER_COUPLINGS = [2.0**k for k in range(-6, 12)]


@dataclass(frozen=True)
class _CountAxes:
    """A named grid of the count-likelihood machine: prior variances of a score."""

    widths: list[float]
    source_variances: list[float]
    target_variances: list[float]
    couplings: list[float]


_SAMPLE = 500

_COUNT_AXES = {
    "quick": _CountAxes(
        widths=[4.0, 1.0, 0.25],
        source_variances=[1.0, 8.0],
        target_variances=[16.0, 64.0, 256.0],
        couplings=[0.1, 1.0, 10.0],
    ),
    "full": _CountAxes(
        widths=[16.0, 4.0, 1.0, 2.0**-2, 2.0**-4],
        source_variances=[0.25, 1.0, 8.0, 64.0],
        target_variances=[1.0, 4.0, 16.0, 64.0, 256.0, 1024.0],
        couplings=[0.01, 0.1, 0.5, 2.0, 10.0, 100.0],
    ),
}


def named_grid(name: str, machine: ScalableMachine, data: TrainingData) -> Grid:
    """Return a named grid for a machine and its training data.

    Parameters
    ----------
    name : {"quick", "full", "paper"}
        "quick" has 3 widths x 2 `C_source` x 3 `C_target` x 5 couplings, "full" about ten times
        as many settings, "paper" 13 x 19 x 19 x 18 = 84,474. Machines without one of these
        parameters, kernels other than RBF (no widths) and data without a source (no `C_source`,
        no coupling) lose that axis.
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
    if name == "paper":
        return _paper_grid(machine, data)
    axes = _entry(_AXES, name)
    grid: Grid = {}
    if machine.kernel == "rbf":
        scale = clone(machine).set_params(gamma="scale")._kernel(data).gamma
        grid["gamma"] = [width * scale for width in axes.widths]
    diagonal = _mean_diagonal(machine, data)
    in_source, in_target = numbers_of_terms(machine, data)
    target_costs = _costs(axes.target_weights, in_target, diagonal)
    if isinstance(machine, TGPLM):
        grid["C_target"] = target_costs
        if data.n_source:
            grid["C_source"] = _costs(axes.source_weights, in_source, diagonal)
            grid["coupling"] = list(axes.couplings)
    elif isinstance(machine, SourceSVM):
        grid["C"] = _costs(axes.source_weights, in_target, diagonal)
    else:
        grid["C"] = target_costs
    return grid


def _paper_grid(machine: CoupledMachine, data: TrainingData) -> Grid:
    grid: Grid = {}
    if machine.kernel == "rbf":
        unit = clone(machine).set_params(gamma="paper")._kernel(data).gamma
        grid["gamma"] = [multiple * unit for multiple in _PAPER_GAMMAS]
    if not isinstance(machine, TGPLM):
        return grid | {"C": PAPER_COSTS}
    grid["C_target"] = PAPER_COSTS
    if data.n_source:
        grid |= {"C_source": PAPER_COSTS, "coupling": PAPER_COUPLINGS}
    return grid


def _entry(grids: dict[str, Axes], name: str) -> Axes:
    if name not in grids:
        names = sorted(grids) + (["paper"] if grids is _AXES else [])
        raise ValueError(f"grid must be one of {names} or a dict; got {name!r}.")
    return grids[name]


def numbers_of_terms(machine: ScalableMachine, data: TrainingData) -> tuple[float, float]:
    """Return how many terms the losses of source and target have, counted by their weights.

    Parameters
    ----------
    machine : TGPLM, InverseCalibrationSVM or SourceSVM
    data : TrainingData
        What the machine learns from.

    Returns
    -------
    source, target : float
        1 where there is none.
    """
    costs = [name for name in ("C", "C_source", "C_target") if hasattr(machine, name)]
    losses = clone(machine).set_params(**dict.fromkeys(costs, 1.0))._losses(data)
    return _number_of_terms([losses.source]), _number_of_terms(losses.target)


def _number_of_terms(losses: list[Loss]) -> float:
    total = sum(float(np.maximum(-loss.lower, loss.upper).sum()) for loss in losses)
    return total if total > 0 else 1.0


def _costs(weights: list[float], n_terms: float, mean_diagonal: float) -> list[float]:
    return [weight / (n_terms * mean_diagonal) for weight in weights]


def _mean_diagonal(machine: CoupledMachine, data: TrainingData) -> float:
    """Return the mean of the kernel of each training row with itself."""
    return _diagonal_mean(machine._kernel(data), data)


def _diagonal_mean(kernel: Kernel, data: TrainingData) -> float:
    parts = [X for X in (data.X_source, data.X_target) if X is not None]
    if kernel.name == "precomputed":
        # Columns are the source rows, then the target rows.
        first = np.cumsum([0, *(X.shape[0] for X in parts)])
        diagonals = [_diagonal_from(X, k) for X, k in zip(parts, first, strict=False)]
    else:
        diagonals = [kernel.diagonal(X) for X in parts]
    mean = float(np.concatenate(diagonals).mean())
    return mean if mean > 0 else 1.0


def _diagonal_from(matrix: Any, first_column: int) -> NDArray[Any]:
    rows = np.arange(matrix.shape[0])
    return np.asarray(matrix[rows, first_column + rows]).ravel()


def count_grid(name: str, machine: CountLikelihoodClassifier, given: TrainingData) -> Grid:
    """Return a named grid for the count-likelihood machine and its training data.

    Parameters
    ----------
    name : {"quick", "full"}
        "quick" has 3 widths x 2 `C_source` x 3 `C_target` x 3 couplings x 2 starts, "full" about
        thirteen times as many settings. Kernels other than RBF lose the widths; data without a
        source lose `C_source`, the coupling and the starts; a `start` that is not "auto" stays.
    machine : CountLikelihoodClassifier
    given : TrainingData
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
    axes = _entry(_COUNT_AXES, name)
    data = standardize(given, machine._column_scale(given))
    kernel = machine._kernel(data)
    grid: Grid = {}
    if kernel.name == "rbf":
        scale = clone(machine).set_params(gamma="scale")._kernel(data).gamma
        grid["gamma"] = [width * scale for width in axes.widths]
    unit = _spread(data) if kernel.name == "linear" else _kernel_spread(kernel, data)
    grid["C_target"] = [variance / unit for variance in axes.target_variances]
    if data.n_source:
        grid["C_source"] = [variance / unit for variance in axes.source_variances]
        grid["coupling"] = list(axes.couplings)
        if machine.start == "auto":
            grid["start"] = ["source", "inverse_calibration"]
    return grid


def _kernel_spread(kernel: Kernel, data: TrainingData) -> float:
    """Return the same in the feature space of a kernel, the centre read from a sample of rows."""
    mean = _diagonal_mean(kernel, data)
    if kernel.name in ("rbf", "linear"):
        return mean
    n_source, n_target = data.n_source, len(data.bags)
    sampled = np.linspace(0, n_source + n_target - 1, min(_SAMPLE, n_source + n_target))
    rows = np.unique(sampled.astype(np.intp))
    block = take_rows(data.X_source, data.X_target, rows)
    values = block[:, rows] if kernel.name == "precomputed" else kernel(block, block)
    spread = mean - float(values.mean())
    return spread if spread > 1e-12 * mean else mean


def _spread(data: TrainingData) -> float:
    """Return the mean squared distance of a row from the centre of all rows."""
    parts = [X for X in (data.X_source, data.X_target) if X is not None]
    n_rows = sum(X.shape[0] for X in parts)
    center = sum(np.asarray(X.sum(axis=0), dtype=np.float64).ravel() for X in parts) / n_rows
    lengths = sum(float(row_norms(X, squared=True).sum()) for X in parts) / n_rows
    spread = float(lengths - center @ center)
    return spread if spread > 1e-12 * lengths else 1.0
