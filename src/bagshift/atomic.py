# SPDX-License-Identifier: BSD-3-Clause
"""Write a file whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from bagshift.exceptions import TableError


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its place when the block succeeds.

    After an error or an interrupt, whatever stood at ``path`` before is still there.

    Parameters
    ----------
    path : str or Path
        Where the finished file belongs.

    Yields
    ------
    Path
        Where to write.

    Raises
    ------
    TableError
        When the folder does not exist or cannot be written to.
    """
    path = Path(path)
    check_writable(path)
    draft = path.with_name(f".{path.stem}.{uuid4().hex}{path.suffix}")
    try:
        yield draft
        os.replace(draft, path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Raise when a file could not be written; asked before work that takes long.

    Parameters
    ----------
    path : str or Path
        Where a file is to be written.

    Raises
    ------
    TableError
        When the path is a folder, or its folder is missing or may not be written to.
    """
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder; name the file to write.")
    if not path.parent.is_dir():
        raise TableError(f"{path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise TableError(f"{path} cannot be written: {path.parent} is read-only.")
