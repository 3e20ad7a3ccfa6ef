# SPDX-License-Identifier: BSD-3-Clause
r"""The mean map of more than two classes.

With :math:`\Pi` the shares of bags by classes and :math:`D` the weights of the bags, the class
means are :math:`P \bar Z` with :math:`P = (\Pi^\top D \Pi)^{-1}\Pi^\top D`, and the softmax loss
needs labels through :math:`\hat\pi_c \hat\mu_c` only. The rows of a bag then have the real targets

.. math:: t_{kc} = \frac{N \hat\pi_c P_{ck}}{m_k}
    + \frac1C\Bigl(1 - \sum_{c'} \frac{N \hat\pi_{c'} P_{c'k}}{m_k}\Bigr)

in place of labels, whose last term makes them sum to 1 and changes nothing that the loss sees of a
difference between classes. Of two classes they are those of
:mod:`bagshift.estimators._mean_maps`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bagshift.estimators._class_training import ClassTraining
from bagshift.exceptions import BagError

Floats = NDArray[np.float64]

# Singular values of the shares that are this small against the largest leave a class unknown.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class ClassMeanMap:
    """Targets of rows, and what they came from.

    Attributes
    ----------
    rows : ndarray of shape (n_unit_rows,)
        Numbers of target rows in bags or with a label.
    targets : ndarray of shape (n_unit_rows, n_classes)
    row_weights : ndarray of shape (n_unit_rows,)
        Factors on the loss of the rows.
    of_classes : ndarray of shape (n_classes, n_units)
        Weights of the means of the units in the class means.
    condition_number : float
        Of the shares by the roots of their weights.
    """

    rows: NDArray[np.intp]
    targets: Floats
    row_weights: Floats
    of_classes: Floats
    condition_number: float


def class_mean_map(name: str, data: ClassTraining, rule: str) -> ClassMeanMap:
    """Return the targets of rows that stand for the class means.

    Parameters
    ----------
    name : str
        The machine, for messages.
    data : ClassTraining
    rule : {"size", "equal"}
        How bags are weighted in least squares.

    Returns
    -------
    ClassMeanMap

    Raises
    ------
    BagError
        When the shares of the bags do not tell all classes apart.
    """
    units = data.unit_of_row
    rows = np.flatnonzero(units >= 0)
    unit_of_row = units[rows]
    sizes = np.bincount(unit_of_row, minlength=data.n_target_units).astype(np.float64)
    shares = np.concatenate([data.class_shares, np.eye(data.n_classes)[data.labelled_codes]])
    own = np.concatenate([data.bags.weights, data.labelled_weight])
    weights = own * (sizes if rule == "size" else 1.0)
    weights = weights / weights.mean()
    of_classes, condition = _least_squares(name, shares, weights)
    overall = np.average(shares, axis=0, weights=weights)
    in_unit = own * sizes
    targets = in_unit.sum() * (overall[:, None] * of_classes) / in_unit
    targets += (1.0 - targets.sum(axis=0)) / data.n_classes
    return ClassMeanMap(rows, targets.T[unit_of_row], own[unit_of_row], of_classes, condition)


def _least_squares(name: str, shares: Floats, weights: Floats) -> tuple[Floats, float]:
    root = np.sqrt(weights)
    left, singular, right = np.linalg.svd(root[:, None] * shares, full_matrices=False)
    n_classes = shares.shape[1]
    if len(singular) < n_classes or singular[-1] <= _EQUAL * singular[0]:
        raise BagError(
            f"{name} unmixes the means of {n_classes} classes and needs as many bags whose shares "
            "are independent, but these are not: add bags with other shares, or leave out classes "
            "that no bag has."
        )
    return (right.T / singular) @ left.T * root, float(singular[0] / singular[-1])
