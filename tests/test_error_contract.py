# SPDX-License-Identifier: BSD-3-Clause
"""The error contract through Python: bad input gets one sentence that names what is wrong.

One test for each row of the contract; the command line has the same in ``tests/cli``.
"""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bagshift import (
    TGPLM,
    BagError,
    Bags,
    BagWarning,
    InverseCalibrationSVM,
    KernelMemoryError,
    LaplaceNoise,
    ModelFileError,
    SourceScaleWarning,
)
from bagshift.kernels import _memory
from bagshift.persistence import load_model
from bagshift.tables import write_table
from problems import two_domains

IDS = ["north", "north", "south", "south", "west", "west"]
SHARES = {"north": 0.5, "south": 1.0, "west": 0.0}


def refusal(exception, action, *, says):
    """Return the message of the refusal, which must be one sentence holding all of ``says``."""
    with pytest.raises(exception) as raised:
        action()
    message = str(raised.value)
    for part in says:
        assert part in message, message
    assert "\n" not in message
    assert len(re.findall(r"[.?!](?=\s+[A-Z])", message)) <= 1, message
    return message


@pytest.mark.parametrize("bad", [-0.1, 1.2, np.nan, np.inf])
def test_share_out_of_range(bad):
    shares = SHARES | {"south": bad}
    refusal(BagError, lambda: Bags.from_arrays(IDS, shares), says=["share", "'south'"])


def test_share_out_of_range_with_declared_noise():
    noise = LaplaceNoise(0.2, unit="shares")
    bags = Bags.from_arrays(IDS, SHARES | {"south": -0.1}, noise=noise)
    X = np.arange(6.0)[:, None]
    assert np.all(np.isfinite(InverseCalibrationSVM().fit(X, bags).decision_function(X)))


def test_percentages_are_recognised():
    shares = {bag: 100 * share for bag, share in SHARES.items()}
    refusal(BagError, lambda: Bags.from_arrays(IDS, shares), says=["0-100", "divide by 100"])


def test_only_five_bags_are_named():
    ids = [f"bag {k}" for k in range(20)]
    message = refusal(
        BagError, lambda: Bags.from_arrays(ids, dict.fromkeys(ids, 7.5)), says=["and 15 more"]
    )
    assert message.count("'bag ") == 5


def test_bag_without_share():
    shares = {"north": 0.5, "south": 1.0}
    refusal(BagError, lambda: Bags.from_arrays(IDS, shares), says=["'west'", "on_unmatched"])
    bags = Bags.from_arrays(IDS, shares, on_unmatched="drop")
    assert bags.n_bags == 2
    assert (bags.bag_index == -1).sum() == 2


def test_share_without_rows():
    shares = SHARES | {"east": 0.5}
    refusal(BagError, lambda: Bags.from_arrays(IDS, shares), says=["'east'", "on_unmatched"])
    assert Bags.from_arrays(IDS, shares, on_unmatched="drop").n_bags == 3


def test_duplicate_ids():
    shares = pd.Series([0.5, 0.6, 1.0, 0.0], index=["north", "north", "south", "west"])
    refusal(BagError, lambda: Bags.from_arrays(IDS, shares), says=["'north'", "one entry per bag"])


@pytest.mark.parametrize("blank", [None, "", "  ", np.nan])
def test_blank_id(blank):
    refusal(BagError, lambda: Bags.from_arrays([*IDS, blank], SHARES), says=["blank"])


def test_total_row():
    counts = {"north": 1, "south": 2, "west": 0, "TOTAL": 3}
    refusal(BagError, lambda: Bags.from_arrays(IDS, counts=counts), says=["'TOTAL'", "total"])


@pytest.mark.parametrize("bad", [1.5, 3, -1, np.nan])
def test_count_that_is_none(bad):
    counts = {"north": 1, "south": bad, "west": 0}
    refusal(BagError, lambda: Bags.from_arrays(IDS, counts=counts), says=["count", "'south'"])


def test_bag_cut_by_slicing():
    X, bags, _, _ = two_domains()
    refusal(BagError, lambda: InverseCalibrationSVM().fit(X[2:], bags[2:]), says=["BagKFold"])


def test_declared_size_is_a_sampling_statement():
    bags = Bags.from_arrays(IDS, SHARES, sizes={"north": 100, "south": 50, "west": 70})
    X = np.arange(6.0)[:, None]
    assert np.all(np.isfinite(InverseCalibrationSVM().fit(X, bags).decision_function(X)))


@pytest.mark.parametrize(
    "shares",
    [{"a": 0.5}, {"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 0.0}],
    ids=["one bag", "equal shares", "pure bags"],
)
def test_bags_that_say_little(shares):
    ids = np.repeat(list(shares), 4)
    X = np.arange(float(len(ids)))[:, None]
    with pytest.warns(BagWarning) as caught:
        machine = InverseCalibrationSVM().fit(X, Bags.from_arrays(ids, shares))
    assert len(caught) == 1
    assert np.all(np.isfinite(machine.decision_function(X)))


def test_values_that_are_not_finite():
    X, bags, _, source = two_domains()
    machine = TGPLM().fit(X, bags, source=source)
    for bad, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        broken = X.copy()
        broken[0, 0] = bad
        with pytest.raises(ValueError, match=name):
            machine.predict(broken)
        with pytest.raises(ValueError, match=name):
            TGPLM().fit(broken, bags)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_missing_extra_or_in_other_order(frame):
    X, bags, _, _ = two_domains()
    data = dict(zip(["age", "income", "distance"], X.T, strict=True))
    machine = InverseCalibrationSVM().fit(frame(data), bags)
    without = {name: data[name] for name in ("age", "income")}
    for broken in (without, data | {"extra": X[:, 0]}, dict(reversed(data.items()))):
        with pytest.raises(ValueError, match="feature names"):
            machine.predict(frame(broken))


def test_source_with_one_class():
    X, bags, _, (X_source, _) = two_domains()
    one = (X_source, np.ones(len(X_source), dtype=int))
    refusal(ValueError, lambda: TGPLM().fit(X, bags, source=one), says=["class"])


def test_source_with_other_columns():
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match="features"):
        TGPLM().fit(X, bags, source=(X_source[:, 1:], y_source))


def test_source_on_another_scale():
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.warns(SourceScaleWarning, match="stack_domains"):
        TGPLM().fit(X, bags, source=(1e4 * X_source, y_source))


def test_kernel_matrix_larger_than_memory(monkeypatch):
    X, bags, _, source = two_domains()
    monkeypatch.setattr(_memory, "free_memory", lambda: 1000)
    monkeypatch.setattr(_memory, "SMALL", 0)
    refusal(
        KernelMemoryError,
        lambda: TGPLM().fit(X, bags, source=source),
        says=["40 source rows", "12 bags", "GiB", "sample of the source rows", "float32"],
    )


def test_model_file_from_elsewhere(tmp_path):
    class Evil:
        def __reduce__(self):
            return print, ("executed",)

    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Evil()))
    refusal(ModelFileError, lambda: load_model(path), says=["model.skops"])


def test_ids_are_escaped_in_html_and_neutralised_in_csv(tmp_path):
    bags = Bags.from_arrays(["<script>", "=cmd()"], {"<script>": 0.5, "=cmd()": 1.0})
    assert "<script>" not in bags._repr_html_()
    path = tmp_path / "out.csv"
    write_table(pl.DataFrame({"id": ["=cmd()", "-2+3", "plain"]}), path)
    cells = path.read_text().split()[1:]
    assert not any(cell.strip('"').startswith(("=", "-", "+", "@")) for cell in cells)
