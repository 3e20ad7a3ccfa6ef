# SPDX-License-Identifier: BSD-3-Clause
"""Labels of rows: plain objects, None where blank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagshift._bags.ids import is_blank, number_distinct, plain_id


def is_known(labels: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Whether each label is known; shape (n_rows,)."""
    return np.fromiter((label is not None for label in labels), dtype=bool, count=len(labels))


def read_labels(labels: Any, name: str) -> NDArray[np.object_]:
    """Read labels as plain objects, None where blank."""
    codes, distinct = number_distinct(labels, name)
    plain = (None if is_blank(label) else plain_id(label) for label in distinct)
    return np.fromiter(plain, dtype=object, count=len(distinct))[codes]
