# SPDX-License-Identifier: BSD-3-Clause
"""Files of public data sets, fetched once and checked.

Only files whose checksum is published somewhere are listed; `PublicFile.checksum_from` says where.
Nothing is fetched but by a call of :func:`fetch` or :func:`bagshift.datasets.fetch_table`.

What cannot be fetched here, and why. No checksum is published, as far as could be found, for the
Reuters sets of two domains (orgs against people or places), the 25,804-term version of 20
Newsgroups and its 19,997-message version, the mails of the ECML-PKDD 2006 challenge, the Amazon
reviews as counts, the Office images as SURF counts, the county returns, and the tables of
precincts. The PIE faces were given to researchers on request only. The defaults of credit card
clients come as an Excel workbook, which nothing here reads. Of the other UCI sets in common use
only those with a published checksum are listed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bagshift.exceptions import TableError, name_some

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
INSTALL_LINE = "Fetching data sets needs one more package: pip install 'bagshift[experiments]'"

_CC_BY = "CC BY 4.0 (UCI Machine Learning Repository)"
_UNCLEAR = "unclear; published for research"
_DBARTS = "github.com/vdorie/dbarts, benchmarks/R/uci-binary.R"
_USPS = "github.com/pytorch/vision, torchvision/datasets/usps.py"
_MNIST = "github.com/pytorch/vision, torchvision/datasets/mnist.py"


@dataclass(frozen=True)
class PublicFile:
    """A file that anyone can download.

    Attributes
    ----------
    url : str
        Where it lies.
    checksum : str
        Algorithm and hexadecimal digest, as ``sha256:…``.
    checksum_from : str
        Where the checksum is published.
    licence : str
        Licence of the data.
    about : str
        What is in it.
    """

    url: str
    checksum: str
    checksum_from: str
    licence: str
    about: str


PUBLIC_FILES: dict[str, PublicFile] = {
    "adult.data": PublicFile(
        f"{UCI}/adult/adult.data",
        "sha256:5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        _DBARTS,
        _CC_BY,
        "Census of 1994, 32,561 people: income above 50,000 dollars",
    ),
    "adult.test": PublicFile(
        f"{UCI}/adult/adult.test",
        "sha256:a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        _DBARTS,
        _CC_BY,
        "16,281 other people of the same census",
    ),
    "spambase.data": PublicFile(
        f"{UCI}/spambase/spambase.data",
        "sha256:b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
        _DBARTS,
        _CC_BY,
        "4,601 mails, spam or not, by frequencies of words",
    ),
    "ionosphere.data": PublicFile(
        f"{UCI}/ionosphere/ionosphere.data",
        "sha256:46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
        _DBARTS,
        _CC_BY,
        "351 radar returns, good or bad",
    ),
    "sonar.all-data": PublicFile(
        f"{UCI}/undocumented/connectionist-bench/sonar/sonar.all-data",
        "sha256:e90434cdbf00fcf93ffa911fe447ae25606979658e60f1d32e155c3b5240234d",
        _DBARTS,
        _CC_BY,
        "208 sonar returns, of mines or rocks",
    ),
    "usps.bz2": PublicFile(
        f"{LIBSVM}/usps.bz2",
        "md5:ec16c51db3855ca6c91edd34d0e9b197",
        _USPS,
        _UNCLEAR,
        "7,291 handwritten digits of envelopes, 16 x 16 pixels",
    ),
    "train-images-idx3-ubyte.gz": PublicFile(
        f"{MNIST}/train-images-idx3-ubyte.gz",
        "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
        _MNIST,
        _UNCLEAR,
        "60,000 handwritten digits of forms (MNIST), 28 x 28 pixels",
    ),
    "train-labels-idx1-ubyte.gz": PublicFile(
        f"{MNIST}/train-labels-idx1-ubyte.gz",
        "md5:d53e105ee54ea40749a09fcbcd1e9432",
        _MNIST,
        _UNCLEAR,
        "Which digits these are",
    ),
}


def fetch(name: str, folder: str | Path | None = None) -> Path:
    """Fetch a public file, unless it is there already.

    The file is downloaded under another name and takes its place only when its checksum is right.

    Parameters
    ----------
    name : str
        A key of `PUBLIC_FILES`.
    folder : str or Path, optional
        Where to keep it; a folder for caches of the user's otherwise.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    TableError
        When there is no such file, it cannot be fetched, or its checksum is another one.
    ImportError
        When pooch is not installed.
    """
    if name not in PUBLIC_FILES:
        raise TableError(
            f"No public file is named {name!r}; known are {name_some(PUBLIC_FILES, 20)}."
        )
    pooch, file = _pooch(), PUBLIC_FILES[name]
    place = Path(folder or pooch.os_cache("bagshift"))
    try:
        with _silent(pooch.get_logger()):
            return Path(pooch.retrieve(file.url, file.checksum, fname=name, path=place))
    except ValueError as error:
        raise TableError(
            f"{file.url} is not the file it was: its checksum is not {file.checksum}; nothing was "
            "kept."
        ) from error
    except OSError as error:
        reason = str(error).splitlines()[0].rstrip(".") or type(error).__name__
        raise TableError(f"{file.url} cannot be fetched into {place}: {reason}.") from error


def _pooch() -> Any:
    try:
        return import_module("pooch")
    except ImportError as error:
        raise ImportError(INSTALL_LINE) from error


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    """Keep a logger that writes to the screen quiet for a while."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
