# SPDX-License-Identifier: BSD-3-Clause
"""Tell rows that a model was fitted on from fresh ones, so that the two are never mixed."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEPARATOR = "\x1f"


def row_fingerprints(frame: pl.DataFrame) -> NDArray[np.uint64]:
    """Return a fingerprint of the values of every row.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows in the columns and kinds of a model.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)
        Equal rows have equal fingerprints, in any file format and on any machine.
    """
    joined = frame.select(
        pl.concat_str(
            [pl.col(name).cast(pl.String).fill_null(SEPARATOR) for name in sorted(frame.columns)],
            separator=SEPARATOR,
        )
    ).to_series()
    digests = b"".join(blake2b(row.encode(), digest_size=8).digest() for row in joined)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
