# SPDX-License-Identifier: BSD-3-Clause
"""A database for all tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bagshift.scale import connect

# The helpers of these tests lie beside them.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with connect("2GB", tmp_path_factory.mktemp("spill"), n_threads=2) as database:
        yield database
