# SPDX-License-Identifier: BSD-3-Clause
"""Public files: fetched from a server on this machine, checked, kept, and read as tables."""

from __future__ import annotations

import bz2
import gc
import gzip
import hashlib
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import Bunch

from bagshift.datasets import PUBLIC_FILES, fetch, fetch_table, one_hot_columns, public_sklearn
from bagshift.datasets.public_digits import shrink
from bagshift.exceptions import TableError


class Server:
    """Serves the files that are published through it, and counts requests."""

    def __init__(self, folder: Path, monkeypatch: Any) -> None:
        self.folder, self.monkeypatch, self.n_requests = folder, monkeypatch, 0
        outer = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.n_requests += 1
                super().do_GET()

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def publish(self, name: str, content: bytes, checksum: str | None = None) -> None:
        (self.folder / name).write_bytes(content)
        file = replace(
            PUBLIC_FILES[name],
            url=f"http://127.0.0.1:{self.http.server_port}/{name}",
            checksum=checksum or "sha256:" + hashlib.sha256(content).hexdigest(),
        )
        self.monkeypatch.setitem(PUBLIC_FILES, name, file)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: Any) -> Iterator[Server]:
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "*")
    (tmp_path / "served").mkdir()
    server = Server(tmp_path / "served", monkeypatch)
    yield server
    server.http.shutdown()
    server.http.server_close()
    with warnings.catch_warnings():
        # The downloader leaves the connection of a refused file to the garbage.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


# Fetching ---------------------------------------------------------------------------------


def test_a_file_is_fetched_once(server: Server, tmp_path: Path, capfd: Any) -> None:
    server.publish("spambase.data", b"1,2,0\n")
    cache = tmp_path / "deep" / "cache"
    for _ in range(2):
        path = fetch("spambase.data", cache)
        assert path == cache / "spambase.data"
        assert path.read_bytes() == b"1,2,0\n"
    assert server.n_requests == 1
    assert [file.name for file in cache.iterdir()] == ["spambase.data"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_another_checksum_is_refused_and_nothing_kept(
    server: Server, tmp_path: Path, algorithm: str
) -> None:
    checksum = f"{algorithm}:{hashlib.new(algorithm, b'what it was').hexdigest()}"
    server.publish("spambase.data", b"1,2,0\n", checksum)
    with pytest.raises(TableError, match=r"is not the file it was.*nothing was kept") as caught:
        fetch("spambase.data", tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_damaged_copy_is_fetched_again(server: Server, tmp_path: Path) -> None:
    server.publish("spambase.data", b"1,2,0\n")
    fetch("spambase.data", tmp_path).write_bytes(b"1,2")
    assert fetch("spambase.data", tmp_path).read_bytes() == b"1,2,0\n"
    server.publish("spambase.data", b"gone", "sha256:" + "0" * 64)
    with pytest.raises(TableError, match="is not the file it was"):
        fetch("spambase.data", tmp_path)
    assert (tmp_path / "spambase.data").read_bytes() == b"1,2,0\n"


def test_what_cannot_be_fetched(server: Server, tmp_path: Path) -> None:
    server.publish("spambase.data", b"1,2,0\n")
    (server.folder / "spambase.data").unlink()
    with pytest.raises(TableError, match=r"cannot be fetched into .*404") as caught:
        fetch("spambase.data", tmp_path / "cache")
    assert "\n" not in str(caught.value)
    server.http.shutdown()
    server.http.server_close()
    with warnings.catch_warnings():
        # The downloader leaves the connection of a refused file to the garbage.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    with pytest.raises(TableError, match="cannot be fetched into"):
        fetch("spambase.data", tmp_path / "cache")
    with pytest.raises(TableError, match="No public file is named 'cats'; known are 'adult"):
        fetch("cats", tmp_path)


def test_without_pooch_there_is_an_install_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'bagshift\[experiments\]'"):
        fetch("spambase.data", tmp_path)


def test_every_public_file_is_fully_described() -> None:
    for name, file in PUBLIC_FILES.items():
        algorithm, digest = file.checksum.split(":")
        assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size
        assert file.url.startswith("https://")
        assert file.url.endswith(name)
        assert all((file.checksum_from, file.licence, file.about))


# Tables -----------------------------------------------------------------------------------

ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
    "Male, 2174, 0, 40, United-States, <=50K\n"
    "52, Private, 209642, HS-grad, 9, Married-civ-spouse, ?, Husband, White, "
    "Male, 0, 0, 45, United-States, >50K\n\n"
)


def test_adult(server: Server, tmp_path: Path) -> None:
    server.publish("adult.data", ADULT.encode())
    of_test = "|1x3 Cross validator\n" + ADULT.replace("50K\n", "50K.\n").replace("39,", "40,")
    server.publish("adult.test", of_test.encode())
    table = fetch_table("adult", tmp_path)
    assert table.X.shape == (4, 14)
    assert table.y.tolist() == [-1, 1, -1, 1]
    assert table.domains.tolist() == ["data", "data", "test", "test"]
    assert table.X[:, 0].tolist() == [39, 52, 40, 52]
    assert table.levels["workclass"] == ("Private", "State-gov")
    assert table.levels["occupation"] == ("?", "Adm-clerical")
    assert table.X[:, 1].tolist() == [1, 0, 1, 0]
    wide = one_hot_columns(table)
    assert wide.X[0, wide.feature_names.index("education=Bachelors")] == 1
    assert table.between("data", "test").X_target.shape == (2, 14)


def test_numbers_with_a_class(server: Server, tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random((3, 60)).round(3)

    def lines(n_columns: int, classes: str) -> bytes:
        rows = zip(numbers[:, :n_columns].tolist(), classes, strict=True)
        return "".join(f"{','.join(map(str, row))},{name}\n" for row, name in rows).encode()

    server.publish("spambase.data", lines(57, "101"))
    server.publish("ionosphere.data", lines(34, "gbb"))
    server.publish("sonar.all-data", lines(60, "RRM"))
    for name, n_columns, labels in (
        ("spambase", 57, [1, -1, 1]),
        ("ionosphere", 34, [1, -1, -1]),
        ("sonar", 60, [1, 1, -1]),
    ):
        table = fetch_table(name, tmp_path)
        expected = numbers[:, :n_columns]
        expected = np.delete(expected, 1, axis=1) if name == "ionosphere" else expected
        np.testing.assert_array_equal(table.X, expected)
        assert table.y.tolist() == labels
        assert (table.name, table.domain_names) == (name, ("all",))


def test_digits_of_two_kinds(server: Server, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    images = random.integers(0, 256, size=(5, 28, 28), dtype=np.uint8)
    head = b"\0\0\x08\x03" + np.array([5, 28, 28], dtype=">i4").tobytes()
    server.publish("train-images-idx3-ubyte.gz", gzip.compress(head + images.tobytes()))
    head = b"\0\0\x08\x01" + np.array([5], dtype=">i4").tobytes()
    server.publish("train-labels-idx1-ubyte.gz", gzip.compress(head + bytes([3, 8, 0, 3, 8])))
    pixels = np.array([-1.0, 0.0, 1.0] * 85 + [-1.0])
    line = " ".join(f"{place}:{value}" for place, value in enumerate(pixels, start=1))
    server.publish("usps.bz2", bz2.compress(f"4 {line} \n10 {line}\n9 {line}\n".encode()))
    table = fetch_table("mnist_usps", tmp_path)
    assert table.X.shape == (8, 256)
    assert table.y.tolist() == [3, 8, 0, 3, 8, 3, 9, 8]
    assert table.X[6, :3].tolist() == [0, 128, 255]
    domains = table.pair(3, 8, "mnist", "usps")
    assert domains.y_source.tolist() == [-1, 1, -1, 1]
    assert domains.y_target.tolist() == [-1, 1]


def test_shrinking_averages_areas() -> None:
    random = np.random.default_rng(0)
    image = random.integers(0, 256, size=(1, 28, 28), dtype=np.uint8)
    # 112 is a multiple of both sides, so that areas are counts of pixels there.
    large = np.kron(image[0], np.ones((4, 4)))
    expected = large.reshape(16, 7, 16, 7).mean(axis=(1, 3))
    np.testing.assert_allclose(shrink(image)[0].reshape(16, 16), expected, atol=0.5001)
    assert (shrink(np.full((2, 28, 28), 77, dtype=np.uint8)) == 77).all()


def made_up_kdd99(**options: Any) -> Bunch:
    random = np.random.default_rng(0)
    names = ["protocol_type", "duration", "flag", "src_bytes"]
    kinds = ["normal."] * 60 + ["smurf."] * 30 + ["satan."] * 8 + ["spy."] * 6 + ["rootkit."] * 4
    data = np.empty((len(kinds), 4), dtype=object)
    data[:, 0], data[:, 2] = b"tcp", b"SF"
    data[:, 1], data[:, 3] = np.arange(len(kinds)), random.integers(0, 9, len(kinds))
    data[60:80] = data[60]
    target = np.array([name.encode() for name in kinds], dtype=object)
    return Bunch(data=data, target=target, feature_names=names)


def test_attacks_and_as_many_normal_rows(monkeypatch: Any) -> None:
    monkeypatch.setattr(public_sklearn, "fetch_kddcup99", made_up_kdd99)
    table = fetch_table("kdd99")
    assert table.feature_names == ("duration", "src_bytes")
    sizes = {name: int(np.sum(table.domains == name)) for name in table.domain_names}
    assert sizes == {"dos": 22, "probe": 16, "r2l": 12}
    assert len(np.unique(table.X, axis=0)) == len(table) == 50
    for name in table.domain_names:
        assert table.y[table.domains == name].sum() == 0
    assert table.groups is not None
    assert ((table.groups == "normal") == (table.y == 1)).all()
    domains = table.between("dos", "r2l")
    assert domains.groups is not None
    assert set(domains.groups.tolist()) == {"spy", "normal"}
    np.testing.assert_array_equal(fetch_table("kdd99").X, table.X)


def test_newsgroups_are_groups(monkeypatch: Any, tmp_path: Path) -> None:
    def made_up(**options: Any) -> Bunch:
        assert options["data_home"] == str(tmp_path)
        assert options["normalize"] is False
        return Bunch(
            data=sparse.eye(4, format="csr"),
            target=np.array([2, 0, 1, 0]),
            target_names=["comp.graphics", "rec.autos", "rec.motorcycles"],
            feature_names=np.array(["a", "b", "c", "d"]),
        )

    monkeypatch.setattr(public_sklearn, "fetch_20newsgroups_vectorized", made_up)
    table = fetch_table("newsgroups", tmp_path)
    assert table.domains.tolist() == ["rec", "comp", "rec", "comp"]
    assert table.class_names == table.domain_names == ("comp", "rec")
    assert table.y.tolist() == [1, 0, 1, 0]
    rows = table.by_groups(["comp.graphics"], ["rec.autos"])
    assert rows.y.tolist() == [1, -1, 1]
    assert rows.X.toarray().argmax(axis=1).tolist() == [1, 2, 3]


def test_no_network_is_said_in_a_sentence(monkeypatch: Any) -> None:
    def offline(**options: Any) -> Bunch:
        raise OSError("Data not found\nand more")

    monkeypatch.setattr(public_sklearn, "fetch_kddcup99", offline)
    with pytest.raises(TableError, match="scikit-learn cannot fetch the file: Data not found"):
        fetch_table("kdd99")
    with pytest.raises(TableError, match="No public data set is named 'cats'; known are 'adult'"):
        fetch_table("cats")
