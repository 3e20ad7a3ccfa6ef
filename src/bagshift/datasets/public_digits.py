# SPDX-License-Identifier: BSD-3-Clause
"""Handwritten digits of two kinds at one size: MNIST and USPS."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from bagshift.datasets.public import fetch
from bagshift.datasets.row_table import RowTable

SIDE = 16
MNIST_SIDE = 28
AT_ONCE = 5000
Bytes = NDArray[np.uint8]


def read_mnist_usps(folder: str | Path | None = None) -> RowTable:
    """Read the training digits of MNIST and USPS, both 16 x 16 pixels from 0 to 255.

    Images of MNIST are shrunk, margin and all: a new pixel is the mean of the area it covers.

    Parameters
    ----------
    folder : str or Path, optional
        Where the files are kept; a folder for caches of the user's otherwise.

    Returns
    -------
    RowTable
        Domains "mnist" (60,000 rows) and "usps" (7,291), classes 0 to 9.

    Raises
    ------
    TableError
        When a file cannot be fetched or is not the one it was.
    ImportError
        When pooch is not installed.
    """
    images = _read_idx(fetch("train-images-idx3-ubyte.gz", folder), 3)
    digits = _read_idx(fetch("train-labels-idx1-ubyte.gz", folder), 1)
    usps, usps_labels = load_svmlight_file(str(fetch("usps.bz2", folder)), n_features=SIDE**2)
    brightness = np.rint((usps.toarray() + 1.0) / 2.0 * 255.0)
    return RowTable(
        name="mnist_usps",
        X=np.concatenate([shrink(images), brightness.astype(np.uint8)]),
        # The file counts its classes from 1, in the order of the digits.
        y=np.concatenate([digits.astype(np.int64), usps_labels.astype(np.int64) - 1]),
        domains=np.repeat(["mnist", "usps"], [len(images), len(brightness)]),
        domain_names=("mnist", "usps"),
        class_names=tuple(map(str, range(10))),
    )


def shrink(images: Bytes) -> Bytes:
    """Shrink square images to 16 x 16 by averaging areas.

    Parameters
    ----------
    images : ndarray of uint8, shape (n_images, 28, 28)
        Images.

    Returns
    -------
    ndarray of uint8, shape (n_images, 256)
        Smaller images, row by row.
    """
    shares = _area_shares(images.shape[1], SIDE)
    parts = [
        np.rint(shares @ images[start : start + AT_ONCE] @ shares.T).astype(np.uint8)
        for start in range(0, len(images), AT_ONCE)
    ]
    return np.concatenate(parts).reshape(len(images), SIDE**2)


def _area_shares(n_old: int, n_new: int) -> NDArray[np.float64]:
    """Return which share of each new pixel every old one makes, along one axis."""
    edges = np.arange(n_new + 1) * n_old / n_new
    ends = np.minimum(edges[1:, None], np.arange(1, n_old + 1))
    starts = np.maximum(edges[:-1, None], np.arange(n_old))
    return np.asarray(np.clip(ends - starts, 0.0, None) * n_new / n_old)


def _read_idx(path: Path, n_axes: int) -> Bytes:
    """Read an IDX file of bytes: four bytes that say so, the shape, the bytes."""
    with gzip.open(path) as file:
        content = file.read()
    shape = np.frombuffer(content, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)
