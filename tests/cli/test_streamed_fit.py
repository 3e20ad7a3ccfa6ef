# SPDX-License-Identifier: BSD-3-Clause
"""Fits on files bigger than memory: the same machines, interrupted and gone on with."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from bagshift.persistence import load_model
from bagshift.workflows import streamed_fit
from bagshift.workflows.requests import BagRequest, FitRequest, MachineRequest
from bagshift.workflows.streamed_inputs import StreamRequest
from cli.conftest import run_command

N_BAGS, BAG_SIZE = 300, 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A target in two Parquet files, shares, history, and some rows with their labels."""
    place = tmp_path_factory.mktemp("streamed")
    rng = np.random.default_rng(2)
    slope = 2.0 * rng.normal(size=3)
    bag = np.repeat(np.arange(N_BAGS), BAG_SIZE)
    X = rng.normal(size=(len(bag), 3)) + rng.normal(size=(N_BAGS, 3))[bag]
    is_yes = X @ slope + rng.logistic(size=len(bag)) > 0
    town = rng.choice(["hill", "lake", None], len(bag)).tolist()
    rows = pl.DataFrame(
        {"precinct": bag, "age": 40 + 10 * X[:, 0], "b": X[:, 1], "c": X[:, 2], "town": town}
    )
    labelled = rows.with_columns(voted=pl.Series(np.where(is_yes, "yes", "no")))
    order = rng.permutation(len(bag))
    (place / "people").mkdir()
    rows[order[:900]].write_parquet(place / "people" / "a.parquet")
    rows[order[900:]].write_parquet(place / "people" / "b.parquet")
    shares = np.bincount(bag, is_yes) / BAG_SIZE
    pl.DataFrame({"precinct": np.arange(N_BAGS), "yes_share": shares}).write_csv(
        place / "results.csv"
    )
    H = rng.normal(size=(500, 3))
    voted = np.where(H @ (slope + 0.4 * rng.normal(size=3)) + rng.logistic(size=500) > 0, 1, 0)
    pl.DataFrame(
        {
            "age": 40 + 10 * H[:, 0],
            "b": H[:, 1],
            "c": H[:, 2],
            "town": rng.choice(["hill", "lake"], 500).tolist(),
            "voted": pl.Series(np.where(voted, "yes", "no")),
        }
    ).write_parquet(place / "history.parquet")
    labelled.write_parquet(place / "labelled.parquet")
    return place


def options(folder, output, *more, **replaced):
    given = {
        "target": folder / "people",
        "bag": "precinct",
        "shares": folder / "results.csv",
        "share-column": "yes_share",
        "source": folder / "history.parquet",
        "label": "voted",
        "positive": "yes",
        "memory": "2GB",
        "method": "tgplm",
        "search": "none",
    } | replaced
    words = [str(w) for k, v in given.items() if v is not None for w in (f"--{k}", v)]
    return ["fit", *words, *map(str, more), "-o", output]


def same_model(one, two):
    first, second = (load_model(path).model[-1] for path in (one, two))
    for name in ("coef_", "intercept_", "source_coef_", "source_intercept_"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert first.objective_ == second.objective_


@pytest.mark.parametrize("method", ["tgplm", "count-likelihood", "ic-svm"])
def test_from_files_to_predictions(folder, tmp_path, method):
    output = tmp_path / "model.skops"
    fitted = run_command(*options(folder, output, method=method, search="quick"))
    assert fitted.code == 0
    assert f"1,800 rows in {N_BAGS} bags" in fitted.words
    assert "500 rows" in fitted.words
    assert "1 text (town)" in fitted.words
    assert not (tmp_path / "model.skops.work").exists()
    predicted = run_command(
        "predict", output, folder / "labelled.parquet", "-o", tmp_path / "predictions.csv"
    )
    assert predicted.code == 0
    truth = pl.read_parquet(folder / "labelled.parquet")["voted"]
    labels = pl.read_csv(tmp_path / "predictions.csv")["label"]
    assert (truth == labels).mean() > 0.75
    evaluated = run_command(
        "evaluate", output, "--target", folder / "labelled.parquet", "--label", "voted"
    )
    assert "all in-sample" in evaluated.words
    assert "count as in-sample" in evaluated.words


def test_is_the_machine_of_files_in_memory(folder, tmp_path):
    """Columns without missing values are prepared alike, so both ways give one machine."""
    rows = pl.concat(pl.read_parquet(folder / "people" / f"{k}.parquet") for k in "ab")
    rows.write_parquet(tmp_path / "people.parquet")
    given = {"columns": "age,b,c", "coupling": 2.0, "c-source": 0.1}
    run_command(*options(folder, tmp_path / "streamed.skops", **given))
    in_memory = {"target": tmp_path / "people.parquet", "memory": None, "kernel": "linear"}
    run_command(*options(folder, tmp_path / "memory.skops", **given, **in_memory))
    X = pl.read_parquet(folder / "labelled.parquet").select("age", "b", "c")
    one, two = (
        load_model(tmp_path / f"{name}.skops").model.decision_function(X)
        for name in ("streamed", "memory")
    )
    np.testing.assert_allclose(one, two, atol=5e-3)


LAWS = {
    "laplace": "laplace:scale=0.05,unit=shares",
    "by column": "gaussian:column=error,unit=shares",
    "rounding": "rounding:digits=1",
}


def noisy_results(folder, place, law):
    """Shares that were changed by a law, with the standard error of each beside it."""
    rng = np.random.default_rng(8)
    table = pl.read_csv(folder / "results.csv")
    errors = np.where(np.arange(N_BAGS) % 3 == 0, 0.0, rng.choice([0.02, 0.1], N_BAGS))
    noise = {
        "laplace": rng.laplace(scale=0.05, size=N_BAGS),
        "by column": rng.normal(size=N_BAGS) * errors,
        "rounding": np.round(table["yes_share"], 1) - table["yes_share"].to_numpy(),
    }
    changed = table.with_columns(pl.col("yes_share") + pl.Series(noise[law]), error=errors)
    changed.write_csv(place / "noisy.csv")
    return place / "noisy.csv"


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", ["tgplm", "count-likelihood"])
def test_noise_is_that_of_files_in_memory(folder, tmp_path, method, law):
    rows = pl.concat(pl.read_parquet(folder / "people" / f"{k}.parquet") for k in "ab")
    rows.write_parquet(tmp_path / "people.parquet")
    given = {
        "columns": "age,b,c",
        "coupling": 2.0,
        "c-source": 0.1,
        "method": method,
        "shares": noisy_results(folder, tmp_path, law),
        "noise": LAWS[law],
    }
    streamed = run_command(*options(folder, tmp_path / "streamed.skops", **given))
    assert streamed.code == 0
    assert ("takes noisy numbers as they are" in streamed.words) == (method == "tgplm")
    in_memory = {"target": tmp_path / "people.parquet", "memory": None, "kernel": "linear"}
    in_words = run_command(*options(folder, tmp_path / "memory.skops", **{**given, **in_memory}))
    assert in_words.code == 0
    without = run_command(
        *options(
            folder, tmp_path / "exact.skops", **given | {"noise": "gaussian:scale=0.3,unit=shares"}
        )
    )
    assert without.code == 0
    models = [load_model(tmp_path / f"{name}.skops") for name in ("streamed", "memory", "exact")]
    X = pl.read_parquet(folder / "labelled.parquet").select("age", "b", "c")
    one, two, other = (model.model.decision_function(X) for model in models)
    np.testing.assert_allclose(one, two, atol=5e-3)
    if method == "count-likelihood":
        assert np.abs(one - other).max() > 0.05
    assert models[0].manifest.fit["noise"] == models[1].manifest.fit["noise"]
    described = [line for line in in_words.out.splitlines() if line.startswith("  noise")]
    assert described[0] in streamed.out


def test_other_laws_are_fitted_anew(folder, tmp_path):
    more = ("--work-folder", tmp_path / "work")
    given = {
        "method": "count-likelihood",
        "shares": noisy_results(folder, tmp_path, "laplace"),
    }
    for place, noise in enumerate((0.05, 0.2)):
        law = {"noise": f"laplace:scale={noise},unit=shares"}
        run_command(*options(folder, tmp_path / f"kept{place}.skops", *more, **given, **law))
        run_command(*options(folder, tmp_path / f"fresh{place}.skops", **given, **law))
        same_model(tmp_path / f"kept{place}.skops", tmp_path / f"fresh{place}.skops")


def test_noise_that_makes_no_sense(folder, tmp_path):
    table = pl.read_csv(folder / "results.csv")
    error = pl.when(pl.int_range(pl.len()) == 4).then(-1.0).otherwise(0.1)
    table.with_columns(error=error).write_csv(tmp_path / "errors.csv")
    changed = {"shares": tmp_path / "errors.csv", "noise": LAWS["by column"]}
    refused = run_command(*options(folder, tmp_path / "m.skops", **changed))
    assert refused.code == 1
    assert "Column 'error' of errors.csv holds no number of a law of noise" in refused.words
    assert "bag 4 (such as -1)" in refused.words
    changed = {"noise": "laplace:scale=2,unit=shares"}
    warned = run_command(*options(folder, tmp_path / "m.skops", **changed))
    assert "write unit=counts" in warned.words


@pytest.mark.parametrize("method", ["tgplm", "count-likelihood", "ic-svm"])
def test_kernel_predicts_through_its_map(folder, tmp_path, method):
    output = tmp_path / "model.skops"
    given = {"method": method, "kernel": "rbf", "components": 60, "search": "quick"}
    given |= {"gamma": 0.1} if method == "count-likelihood" else {}
    fitted = run_command(*options(folder, output, **given))
    assert fitted.code == 0
    saved = load_model(output)
    machine = saved.model[-1]
    assert machine.kernel_.name == "rbf"
    assert len(machine.support_vectors_) == 60
    assert machine.fit_report_["n_components"] == machine.support_vectors_.shape[0]
    assert machine.fit_report_["n_target_rows"] == N_BAGS * BAG_SIZE
    truth = pl.read_parquet(folder / "labelled.parquet")["voted"]
    rows = folder / "labelled.parquet"
    for more in ((), ("--memory", "2GB")):
        run_command("predict", output, rows, "-o", tmp_path / "out.csv", *more)
        assert (truth == pl.read_csv(tmp_path / "out.csv")["label"]).mean() > 0.75


def test_map_that_does_not_fit(folder, tmp_path):
    given = {"kernel": "rbf", "components": 9_000}
    refused = run_command(*options(folder, tmp_path / "model.skops", **given))
    assert refused.code == 1
    assert "take fewer --components" in refused.words
    assert not (tmp_path / "model.skops.work").exists()
    refused = run_command(*options(folder, tmp_path / "model.skops", components=50))
    assert refused.code == 2
    assert "--components goes with" in refused.words


class Killed(BaseException):
    pass


def requests(folder, method, **parameters):
    bags = BagRequest(
        folder / "people", "precinct", folder / "results.csv", share_column="yes_share"
    )
    files = FitRequest(bags, folder / "history.parquet", "voted", "yes")
    return files, MachineRequest(method, "none", parameters)


@contextmanager
def quiet_step(name):
    yield lambda done, total: None


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", ["tgplm", "count-likelihood"])
def test_killed_in_every_step_ends_in_the_same_model(folder, tmp_path, method, kernel):
    files, machine = requests(folder, method, kernel=kernel, n_components=40)
    whole = StreamRequest("2GB", tmp_path / "whole")
    expected = streamed_fit.fit_streamed(files, machine, whole, quiet_step).fit.saved.model[-1]
    names = []

    @contextmanager
    def dying(name):
        """Die at the end of the first step that was not reached before."""
        yield lambda done, total: None
        if name not in names:
            names.append(name)
            raise Killed

    stream = StreamRequest("2GB", tmp_path / "killed")
    for _ in range(20):
        try:
            found = streamed_fit.fit_streamed(files, machine, stream, dying).fit.saved.model[-1]
            break
        except Killed:
            continue
    n_steps = 8 if kernel == "rbf" and method == "tgplm" else 7
    assert len(names) == n_steps
    name = "coef_" if kernel == "linear" else "dual_coef_"
    assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert found.objective_ == expected.objective_


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["tgplm", "count-likelihood"])
def test_sigkill_at_any_moment(folder, tmp_path, method):
    words = [sys.executable, "-m", "bagshift"]
    whole = options(folder, tmp_path / "whole.skops", method=method)
    began = time.monotonic()
    subprocess.run([*words, *map(str, whole)], check=True, capture_output=True)
    seconds = time.monotonic() - began
    killed = [*words, *map(str, options(folder, tmp_path / "killed.skops", method=method))]
    for part in (0.3, 0.5, 0.7, 0.9):
        process = subprocess.Popen(killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(part * seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(killed, check=True, capture_output=True)
    same_model(tmp_path / "whole.skops", tmp_path / "killed.skops")


def test_work_folder_is_kept_and_serves_again(folder, tmp_path):
    work = tmp_path / "work"
    more = ("--work-folder", work)
    first = run_command(*options(folder, tmp_path / "one.skops", *more))
    assert f"{work.name} keeps what was done" in first.words
    stamps = {path: path.stat().st_mtime_ns for path in work.rglob("*-*.np[yz]")}
    assert len(stamps) > 5
    run_command(*options(folder, tmp_path / "two.skops", *more))
    assert stamps == {path: path.stat().st_mtime_ns for path in work.rglob("*-*.np[yz]")}
    same_model(tmp_path / "one.skops", tmp_path / "two.skops")


def test_other_shares_and_settings_are_fitted_anew(folder, tmp_path):
    more = ("--work-folder", tmp_path / "work")
    run_command(*options(folder, tmp_path / "one.skops", *more))
    table = pl.read_csv(folder / "results.csv")
    table.with_columns(1 - pl.col("yes_share")).write_csv(tmp_path / "results.csv")
    changed = {"shares": tmp_path / "results.csv"}
    assert run_command(*options(folder, tmp_path / "two.skops", *more, **changed)).code == 0
    run_command(*options(folder, tmp_path / "three.skops", **changed))
    same_model(tmp_path / "two.skops", tmp_path / "three.skops")
    other = {"coupling": 3.0}
    run_command(*options(folder, tmp_path / "four.skops", *more, **other))
    run_command(*options(folder, tmp_path / "five.skops", **other))
    same_model(tmp_path / "four.skops", tmp_path / "five.skops")


def test_interrupt_says_how_to_go_on(folder, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(streamed_fit, "_fit", interrupted)
    ended = run_command(*options(folder, tmp_path / "model.skops"))
    assert ended.code == 130
    assert "the same command goes on from what is kept in" in ended.words
    assert (tmp_path / "model.skops.work").exists()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"shares": None, "share-column": "b"}, "give it with --shares"),
        ({"kernel": "poly"}, "take --kernel rbf or linear"),
        ({"method": "svm"}, "has no fit with --memory"),
        ({"memory": "1MB"}, "too small"),
        ({"target": "nowhere"}, "nowhere"),
        ({"positive": "perhaps"}, "is not a label"),
        ({"bag": "area"}, "no column 'area'"),
    ],
)
def test_refusals(folder, tmp_path, changed, sentence):
    refused = run_command(*options(folder, tmp_path / "model.skops", **changed))
    assert refused.code == 1
    assert sentence in refused.words
    assert len(refused.words) < 400
    assert not (tmp_path / "model.skops").exists()


@pytest.mark.parametrize("memory", ["much", "0", "-1GB", "", "1e3MB"])
def test_memory_is_a_size(folder, tmp_path, memory):
    refused = run_command(*options(folder, tmp_path / "m.skops", memory=memory))
    assert refused.code == 2
    assert f"--memory must be a size such as '4GB' or '500 MiB', not {memory!r}" in refused.words


def test_work_folder_needs_memory(folder, tmp_path):
    refused = run_command(
        *options(folder, tmp_path / "m.skops", "--work-folder", tmp_path / "w", memory=None)
    )
    assert refused.code == 2
    assert "--work-folder goes with --memory" in refused.words


def test_dropped_bags_are_told(folder, tmp_path):
    table = pl.read_csv(folder / "results.csv")
    table[5:].write_csv(tmp_path / "results.csv")
    changed = {"shares": tmp_path / "results.csv"}
    refused = run_command(*options(folder, tmp_path / "model.skops", **changed))
    assert refused.code == 1
    assert "--on-unmatched drop" in refused.words
    dropped = run_command(
        *options(folder, tmp_path / "model.skops", **changed, **{"on-unmatched": "drop"})
    )
    assert dropped.code == 0
    assert "Dropped:" in dropped.err
    assert "30 more in no bag" in dropped.words


def test_files_that_were_mended_are_read_anew(folder, tmp_path):
    people = pl.concat(pl.read_parquet(folder / "people" / f"{k}.parquet") for k in "ab")
    broken = people.with_columns(
        precinct=pl.when(pl.int_range(pl.len()) < 9).then(None).otherwise("precinct")
    )
    broken.write_parquet(tmp_path / "people.parquet")
    changed = {"target": tmp_path / "people.parquet"}
    refused = run_command(*options(folder, tmp_path / "model.skops", **changed))
    assert refused.code == 1
    assert "blank" in refused.words
    assert not (tmp_path / "model.skops.work").exists()
    people.write_parquet(tmp_path / "people.parquet")
    more = ("--work-folder", tmp_path / "work")
    run_command(*options(folder, tmp_path / "model.skops", *more, **changed))
    people[::-1].write_parquet(tmp_path / "people.parquet")
    assert run_command(*options(folder, tmp_path / "again.skops", *more, **changed)).code == 0
    assert len(list((tmp_path / "work").iterdir())) == 1
    run_command(*options(folder, tmp_path / "fresh.skops", **changed))
    same_model(tmp_path / "again.skops", tmp_path / "fresh.skops")


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_shares_that_tell_little(folder, tmp_path, share):
    pl.DataFrame({"precinct": np.arange(N_BAGS), "yes_share": [share] * N_BAGS}).write_csv(
        tmp_path / "results.csv"
    )
    told = run_command(*options(folder, tmp_path / "m.skops", shares=tmp_path / "results.csv"))
    assert f"All {N_BAGS} bags have the share {share:g}" in told.words
    assert told.code == 0


def test_work_folder_that_is_none(folder, tmp_path):
    (tmp_path / "work").write_text("a file")
    refused = run_command(
        *options(folder, tmp_path / "m.skops", "--work-folder", tmp_path / "work")
    )
    assert refused.code == 1
    assert "cannot be used as a folder" in refused.words
