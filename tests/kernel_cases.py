# SPDX-License-Identifier: BSD-3-Clause
"""Kernels with their scikit-learn twins, and rows to compare them on."""

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from bagshift.kernels import Kernel

N_SOURCE, N_TARGET, N_FEATURES = 23, 61, 5
FORMATS = ("dense", "csr")
DTYPES = (np.float64, np.float32)
TILES = (7, 16, 1000)


def laplacian(A, B):
    """Compute a kernel that is neither of the named ones."""
    if sparse.issparse(A):
        A, B = A.toarray(), B.toarray()
    return np.exp(-0.2 * np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


KERNELS = {
    "linear": (Kernel("linear"), linear_kernel),
    "rbf": (Kernel("rbf", gamma=0.3), lambda A, B: rbf_kernel(A, B, gamma=0.3)),
    "poly": (
        Kernel("poly", gamma=0.2, degree=3, coef0=0.7),
        lambda A, B: polynomial_kernel(A, B, gamma=0.2, degree=3, coef0=0.7),
    ),
    "callable": (Kernel(laplacian), laplacian),
}


def make_rows(n_rows, seed, form="dense", dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(dtype)
    if form == "dense":
        return X
    return sparse.csr_matrix(np.where(rng.random(X.shape) < 0.5, X, 0.0).astype(dtype))


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def averaging_matrix(unit_of_row, n_units):
    A = np.zeros((n_units, len(unit_of_row)))
    for row, unit in enumerate(unit_of_row):
        if unit >= 0:
            A[unit, row] = 1.0
    return A / A.sum(axis=1, keepdims=True)


def reference_gram(function, X_source, X_target, unit_of_row, n_units):
    rows = np.vstack([dense(X).astype(np.float64) for X in (X_source, X_target)])
    n_source = X_source.shape[0]
    averaging = np.zeros((n_source + n_units, len(rows)))
    averaging[:n_source, :n_source] = np.eye(n_source)
    averaging[n_source:, n_source:] = averaging_matrix(unit_of_row, n_units)
    return averaging @ function(rows, rows) @ averaging.T


def tolerance(dtype):
    return {"rtol": 1e-10, "atol": 1e-12} if dtype == np.float64 else {"rtol": 2e-5, "atol": 2e-6}
