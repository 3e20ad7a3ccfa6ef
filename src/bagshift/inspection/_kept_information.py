# SPDX-License-Identifier: BSD-3-Clause
r"""What a published number still says about the count of a bag's rows.

Of a bag of :math:`n` rows, a machine that knows the rows leaves the count a variance of
:math:`n r`, with :math:`r` the mean of :math:`p_j (1 - p_j)` over rows: :math:`p (1-p)` as long as
the features say nothing, and between a half and the whole of the rate of errors of a machine whose
probabilities are right. The exact count tells all of that. If something of variance
:math:`\tau^2` was added, and if the bag has :math:`M - n` individuals that are not among the rows,
the part

.. math:: v = \frac{n r}{n r + (M - n) p (1-p) + \tau^2}

of it is explained. So noise weighs the more, the better rows can be told apart. As the
information in an exact bag does not depend on its size, the same rows are then worth about as
much as in exact bags :math:`1/v` times as large. ``benchmarks/noise_cost.py`` compares the two on
960 rows of Gaussians in 2 to 30 features: where :math:`n/v` is up to 30 rows, accuracies differ by
at most 1.4 points; beyond, noise costs more than that, by up to 10 points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ACCURACY = 0.9
_VARIANCE_PER_ERROR = 0.75


def check_accuracy(accuracy: float) -> None:
    """Refuse what is no accuracy to reckon with.

    Parameters
    ----------
    accuracy : float
    """
    if not 0.5 <= accuracy < 1:
        raise ValueError(f"accuracy must be from 0.5 to below 1, not {accuracy!r}.")


def kept_information(
    n_rows: FloatArray,
    sizes: FloatArray,
    overall: float,
    noise_variances: FloatArray | float,
    accuracy: float,
) -> FloatArray:
    """Say which part of the information in exact counts is left.

    Parameters
    ----------
    n_rows, sizes : ndarray of shape (n_bags,)
        Rows, and individuals that the number speaks about.
    overall : float
        Share of positives.
    noise_variances : float or ndarray of shape (n_bags,)
        Variance of what was added to each count.
    accuracy : float
        Of a machine that knows the rows; 0.5 for one that has learned nothing yet.

    Returns
    -------
    ndarray of shape (n_bags,)
        From 0 to 1.

    Examples
    --------
    >>> one = np.array([10.0])
    >>> kept_information(one, one, 0.5, 0.0, 0.9), kept_information(one, 4 * one, 0.5, 0.0, 0.5)
    (array([1.]), array([0.25]))
    """
    one = overall * (1 - overall)
    rest = min(one, _VARIANCE_PER_ERROR * (1 - accuracy))
    lost = (sizes - n_rows) * one + noise_variances
    known = n_rows * rest
    return np.asarray(np.where(lost > 0, known / np.maximum(known + lost, 1e-300), 1.0))
