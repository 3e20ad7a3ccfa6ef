# SPDX-License-Identifier: BSD-3-Clause
r"""What steps tell of the part of a Hessian that is not computed.

A curvature :math:`B` stands in for the Hessian :math:`H`; where it is off by a third, each of
Newton's steps leaves a third of the error. The difference :math:`A = H - B` changes slowly, and
every step :math:`s` tells something of it: the gradient changes by :math:`y`, so
:math:`A s \approx y - \bar B s`, with the mean :math:`\bar B` of the curvatures at both ends.
With :math:`r = y - \bar B s - A s` the correction of rank one that agrees is

.. math:: A \leftarrow A + \frac{r r^\top}{r^\top s} ,

and the least one, measured by the curvature, with :math:`a = B s`,

.. math::

    A \leftarrow A + \frac{r a^\top + a r^\top}{a^\top s}
    - \frac{r^\top s}{(a^\top s)^2} a a^\top

([1]_; [2]_ 6.2 and 10.3). The first learns faster, the second cannot become large where the rest
is small. Neither is taken unless :math:`A` stays smaller than the curvature in every direction;
an :math:`A` that is not, because the curvature has changed, is forgotten.

References
----------
.. [1] J. E. Dennis, D. M. Gay, R. E. Welsch. An adaptive nonlinear least-squares algorithm. ACM
   Transactions on Mathematical Software 7(3), 1981.
.. [2] J. Nocedal, S. Wright. Numerical Optimization, 2nd edition, Springer, 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

Floats = NDArray[np.float64]

# Steps tell of the Hessian here when they are short, relative to the place, and longer than
# rounding.
_LONGEST, _SHORTEST = 0.3, 1e-8
# The part of the curvature that what is missing may be, in any direction.
_SMALLER = 0.8


@dataclass(frozen=True, eq=False)
class CurvedPoint:
    """An objective at one place, with a curvature that stands in for its Hessian.

    Attributes
    ----------
    v, gradient : ndarray of shape (size,)
    value : float
    curvature : ndarray of shape (size, size)
    """

    v: Floats
    value: float
    gradient: Floats
    curvature: Floats


def corrected(missing: Floats, origin: CurvedPoint, point: CurvedPoint) -> Floats:
    """Return what is missing in the curvature, as a step tells.

    Parameters
    ----------
    missing : ndarray of shape (size, size)
        What was known before.
    origin, point : CurvedPoint
        Where the step began and ended.

    Returns
    -------
    ndarray of shape (size, size)
    """
    for candidate in _candidates(missing, origin, point):
        if _is_smaller(candidate, point.curvature):
            return candidate
    return np.zeros_like(missing)


def _candidates(missing: Floats, origin: CurvedPoint, point: CurvedPoint) -> Iterator[Floats]:
    """Yield what may be missing, the best guess first."""
    step = point.v - origin.v
    reach = max(float(np.linalg.norm(point.v)), 1e-100)
    if _SHORTEST * reach <= np.linalg.norm(step) <= _LONGEST * reach:
        axis = point.curvature @ step
        bent = 0.5 * (origin.curvature @ step + axis) + missing @ step
        rest = point.gradient - origin.gradient - bent
        along, unit = float(rest @ step), float(axis @ step)
        if along:
            yield missing + np.outer(rest, rest / along)
        if unit > 0.0:
            both = np.outer(rest, axis / unit)
            yield missing + both + both.T - np.outer(axis, along / unit**2 * axis)
    if missing.any():
        yield missing


def _is_smaller(missing: Floats, curvature: Floats) -> bool:
    """Tell whether a matrix is smaller than the curvature in every direction, of either sign."""
    try:
        for sign in (1.0, -1.0):
            cholesky(_SMALLER * curvature + sign * missing, overwrite_a=True)
    except (LinAlgError, ValueError):
        return False
    return True
