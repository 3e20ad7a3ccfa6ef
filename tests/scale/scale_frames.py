# SPDX-License-Identifier: BSD-3-Clause
"""Rows of every kind, for the tests of files bigger than memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bagshift.scale.connection import resident_bytes

INJECTION = 'a"; drop table x; --'
STRANGE_NAMES = (INJECTION, "o'brien", "größe in m²", "two\nlines", "  spaces ", "select", "{x}")


def on_top(n_bytes: float = 1e9) -> int:
    """Memory for a test: what this process, which ran other tests, holds already, and more."""
    return resident_bytes() + int(n_bytes)


def mixed_frame(n_rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Rows with numbers, texts, dates and truths, all of them now and then missing."""
    rng = np.random.default_rng(seed)
    minutes = pd.to_timedelta(rng.integers(0, 9999, n_rows), "m")
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n_rows),
            "rooms": rng.integers(1, 9, n_rows),
            INJECTION: rng.gamma(2.0, size=n_rows).astype(np.float32),
            "city": rng.choice(["Rome", "Bonn", "Oslo", "L'Aquila", 'say "hi"', "größer"], n_rows),
            "grade": rng.choice(["007", "010"], n_rows),
            "member": rng.random(n_rows) < 0.3,
            "joined": pd.Timestamp("2024-01-01") + minutes,
        }
    )
    for name in ("age", INJECTION, "city", "joined"):
        frame.loc[rng.random(n_rows) < 0.1, name] = None
    return frame


def write(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame by the ending of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path
