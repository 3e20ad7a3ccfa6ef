# SPDX-License-Identifier: BSD-3-Clause
"""Limits of memory, the folder for what is spilled, and errors of DuckDB in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scale_frames import on_top

from bagshift.exceptions import TableError
from bagshift.scale import connect, memory_bytes, rows_from
from bagshift.scale._errors import sentence
from bagshift.scale._streaming import stream
from bagshift.scale.connection import SPILL_PREFIX, memory_limit, resident_bytes

LONG = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"


@pytest.mark.parametrize(
    ("memory", "n_bytes"),
    [("4GB", 4e9), ("500 MiB", 500 * 2**20), ("1.5 g", 1.5e9), ("64mb", 64e6), (10**9, 1e9)],
)
def test_sizes_of_memory(memory: str | int, n_bytes: float) -> None:
    assert memory_bytes(memory) == n_bytes


@pytest.mark.parametrize("memory", ["", "much", "-1GB", "0", "4GBB", "4 PB", True, None, 1e99])
def test_no_sizes_of_memory(memory: Any) -> None:
    with pytest.raises(TableError, match="memory must be a size such as '4GB'"):
        memory_bytes(memory)


def test_settings_and_the_folder_that_is_gone_afterwards(tmp_path: Path) -> None:
    with connect(memory := on_top(), tmp_path, n_threads=3) as database:
        (threads,) = database.sql("SELECT current_setting('threads')").fetchall()[0]
        assert threads == 3
        assert 0 < memory_limit(database) < memory - resident_bytes()
        assert len(list(tmp_path.iterdir())) == 1
        value = 5  # noqa: F841
        with pytest.raises(Exception, match="value"):
            database.sql("SELECT * FROM value")
    assert not list(tmp_path.iterdir())


def test_the_folder_is_gone_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), connect(on_top(), tmp_path):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal, sys
from bagshift.scale import connect
assert not {"duckdb", "pyarrow"} & set(sys.modules)
with connect("1GB", sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_folders_of_killed_processes_are_removed(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -9
    (abandoned,) = tmp_path.iterdir()
    assert abandoned.name.startswith(SPILL_PREFIX)
    (tmp_path / "something else").mkdir()
    with connect(on_top(), tmp_path) as _, connect(on_top(), tmp_path) as _:
        assert not abandoned.exists()
        assert len(list(tmp_path.iterdir())) == 3  # two of living processes, and the other one
    assert [path.name for path in tmp_path.iterdir()] == ["something else"]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"memory='1 MB' is too small: .* holds"), connect("1 MB"):
        pass
    with pytest.raises(TableError, match="There is no folder"), connect(on_top(), tmp_path / "no"):
        pass
    for n_threads in (0, 1.5, True):
        with pytest.raises(TableError, match="n_threads must be"):
            connect(on_top(), tmp_path, n_threads).__enter__()  # type: ignore[arg-type]


def test_without_duckdb_there_is_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for use in (lambda: connect(on_top()).__enter__(), lambda: rows_from("x.parquet")):
        with pytest.raises((ImportError, TableError)) as caught:
            use()
        if isinstance(caught.value, ImportError):
            assert str(caught.value).endswith("pip install 'bagshift[scale]'")
    with pytest.raises(ImportError, match="pip install 'bagshift"):
        connect(on_top()).__enter__()


# Streaming ------------------------------------------------------------------------------------


def test_pieces_and_word_of_progress(connection: Any) -> None:
    shares: list[float] = []
    pieces = stream(connection, "SELECT * FROM range(300000)", n_columns=50, waiting=shares.append)
    sizes = [piece.num_rows for piece in pieces]
    assert sum(sizes) == 300_000
    assert max(sizes) <= 16 * 2**20 // (8 * 50)
    assert all(0 <= share <= 1 for share in shares)


def test_a_stream_that_is_left_early_gives_the_database_free(connection: Any) -> None:
    pieces = stream(connection, "SELECT * FROM range(100000000)")
    next(pieces)
    pieces.close()
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_an_interrupt_is_heard_while_the_database_works(connection: Any) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(stream(connection, LONG))
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_what_is_said_about_an_exception_of_the_caller(connection: Any) -> None:
    def complain(share: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(stream(connection, LONG, waiting=complain))
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Out of Memory Error: failed to allocate data of size 1", "raise memory="),
        ("Out of Memory Error: failed to offload data block", "The disk is too full"),
        ("IO Error: could not write: No space left on device", "The disk is too full"),
        ("Conversion Error: Could not convert string 'x' to DOUBLE\n\nLINE", "holds 'x' in a"),
        ("Binder Error: something else.\nand more", "cannot be read: something else."),
        ("", "cannot be read: no reason"),
    ],
)
def test_sentences(message: str, words: str) -> None:
    said = sentence(message, (rows_from(pd.DataFrame({"x": [1]}), name="people"),))
    assert words in said
    assert "\n" not in said


def test_too_little_memory_is_said(tmp_path: Path) -> None:
    with connect(resident_bytes() + 330 * 10**6, tmp_path, n_threads=1) as database:
        statement = "SELECT list(range) AS x FROM range(30000000)"
        with pytest.raises(TableError, match="memory given does not suffice"):
            list(stream(database, statement))
