# SPDX-License-Identifier: BSD-3-Clause
"""Small files in the place of the real data, of the same form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

N_ROWS = 48


def write_faces(folder: Path) -> Path:
    """Write two kinds of pictures that get harder to tell apart from angle to angle."""
    random = np.random.default_rng(0)
    names = np.array(["rot0", "rot10", "rot30", "rot50"])
    labels = np.tile(np.array([1, -1], dtype=np.int8), 2 * N_ROWS)
    domain = np.repeat(np.arange(4), N_ROWS)
    pattern = np.repeat([1.0, -1.0], 8)
    contrast = 60.0 / (1 + domain)[:, np.newaxis]
    X = 128 + np.outer(labels, pattern) * contrast + 20 * random.normal(size=(len(labels), 16))
    np.savez(
        folder / "pie_1_vs_35.npz",
        X=X.clip(0, 255).astype(np.uint8),
        y=labels,
        domain=domain,
        domain_names=names,
    )
    return folder


def write_texts(folder: Path) -> Path:
    """Write counts of words, some of which occur in one domain only."""
    random = np.random.default_rng(1)
    for name in ("reuters_orgs_people", "news20_comp_vs_talk"):
        labels = np.tile(np.array([1, -1], dtype=np.int8), N_ROWS)
        domain = np.repeat(np.arange(2), N_ROWS)
        rates = np.full((2 * N_ROWS, 30), 0.3)
        for words, rows in ((slice(0, 5), labels == 1), (slice(5, 10), labels == -1)):
            rates[rows, words] = 1.2
        rates[(labels == 1) & (domain == 1), 10:15] = 1.2
        X = sparse.csr_matrix(random.poisson(rates).astype(np.uint16))
        np.savez(
            folder / f"{name}.npz",
            X_data=X.data,
            X_indices=X.indices,
            X_indptr=X.indptr,
            X_shape=np.array(X.shape),
            y=labels,
            domain=domain,
            domain_names=np.array(["source", "target"]),
        )
    return folder
