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

from scale_frames import on_top


@pytest.fixture(scope="session")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with connect(on_top(2e9), tmp_path_factory.mktemp("spill"), n_threads=2) as database:
        yield database
