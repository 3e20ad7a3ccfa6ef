# SPDX-License-Identifier: BSD-3-Clause
"""The command line with shares of more than two classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

NAMES = np.array(["left", "right", "green"])
CENTRES = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
N_BAGS, BAG_SIZE = 16, 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of a small election of three parties."""
    folder = tmp_path_factory.mktemp("parties")
    rng = np.random.default_rng(0)
    codes, old = rng.integers(3, size=N_BAGS * BAG_SIZE), rng.integers(3, size=60)
    X, X_old = CENTRES[codes] + rng.normal(size=(len(codes), 2)), CENTRES[old] + 0.3
    X_old = X_old + rng.normal(size=X_old.shape)
    ids = np.repeat(np.arange(N_BAGS), BAG_SIZE)
    pl.DataFrame(
        {
            "person": [f"p{row}" for row in range(len(ids))],
            "ward": [f"w{bag}" for bag in ids],
            "x": X[:, 0],
            "z": X[:, 1],
            "vote": NAMES[codes],
        }
    ).write_csv(folder / "people.csv")
    counts = np.zeros((N_BAGS, 3), dtype=int)
    np.add.at(counts, (ids, codes), 1)
    wards = [f"w{bag}" for bag in range(N_BAGS)]
    table = {"ward": wards} | dict(zip(NAMES.tolist(), counts.T, strict=True))
    pl.DataFrame(table).write_csv(folder / "counts.csv")
    shares = {name: table[name] / BAG_SIZE for name in NAMES.tolist()}
    pl.DataFrame({"ward": wards} | shares).write_csv(folder / "shares.csv")
    pl.DataFrame({"x": X_old[:, 0], "z": X_old[:, 1], "vote": NAMES[old]}).write_parquet(
        folder / "history.parquet"
    )
    return folder


def fit_words(folder: Path, output: Path, *more: object, shares: str = "shares.csv") -> list:
    return [
        *("fit", "--target", folder / "people.csv", "--bag", "ward", "--id", "person"),
        *("--ignore", "vote", "--shares", folder / shares, "--search", "none", "-o", output),
        *more,
    ]


def each(option: str, names=NAMES) -> list:
    return [word for name in names for word in (option, name)]


def history(folder: Path) -> list:
    return ["--source", folder / "history.parquet", "--label", "vote"]


@pytest.mark.parametrize("method", ["count-likelihood", "tgplm", "ic-svm", "svm"])
def test_from_files_to_predictions(command, folder, tmp_path, method):
    model, output = tmp_path / "m.skops", tmp_path / "p.csv"
    more = [] if method == "ic-svm" else history(folder)
    columns = each("--share-column")
    told = command(*fit_words(folder, model, *columns, *more, "--method", method))
    assert told.code == 0, told.words
    assert "classes left, right, green" in told.words
    assert "left: from 0 to" in told.words
    assert command("predict", model, folder / "people.csv", "-o", output).code == 0
    found = pl.read_csv(output)
    truth = pl.read_csv(folder / "people.csv")["vote"]
    assert (found["label"] == truth).mean() > 0.75
    scores = found.select([f"decision_{name}" for name in sorted(NAMES)]).to_numpy()
    assert np.array_equal(np.sort(NAMES)[scores.argmax(axis=1)], found["label"].to_numpy())
    if method != "svm":
        chances = found.select([f"probability_{name}" for name in sorted(NAMES)]).to_numpy()
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-9)


def test_counts_with_a_rest_and_rows_in_their_bags(command, folder, tmp_path):
    model, output = tmp_path / "m.skops", tmp_path / "p.csv"
    columns = [*each("--count-column", ["left", "right"]), "--other", "green"]
    told = command(*fit_words(folder, model, *columns, *history(folder), shares="counts.csv"))
    assert told.code == 0, told.words
    assert "green has what the counts leave" in told.words
    assert "--count-column left --count-column right -o in_bags.csv" in told.words
    words = ["predict", model, folder / "people.csv", "--shares", folder / "counts.csv"]
    told = command(*words, *columns, "-o", output)
    assert told.code == 0, told.words
    found = pl.read_csv(output)
    counts = pl.read_csv(folder / "counts.csv")
    for name in ("left", "right"):
        by_bag = found.hstack(pl.read_csv(folder / "people.csv").select("ward"))
        sums = by_bag.group_by("ward").agg(pl.col(f"probability_in_bag_{name}").sum())
        joined = sums.join(counts, on="ward")
        np.testing.assert_allclose(joined[f"probability_in_bag_{name}"], joined[name], atol=1e-6)


def test_labels_that_are_numbers(command, folder, tmp_path):
    numbers = {"left": 0, "right": 1, "green": 2}
    table = pl.read_csv(folder / "shares.csv").rename({k: str(v) for k, v in numbers.items()})
    table.write_csv(tmp_path / "shares.csv")
    old = pl.read_parquet(folder / "history.parquet")
    old = old.with_columns(pl.col("vote").replace_strict(numbers))
    old.write_parquet(tmp_path / "history.parquet")
    words = fit_words(folder, tmp_path / "m.skops", *each("--share-column", ["0", "1", "2"]))
    words[words.index("--shares") + 1] = tmp_path / "shares.csv"
    told = command(*words, "--source", tmp_path / "history.parquet", "--label", "vote")
    assert told.code == 0, told.words


CHANGES = {
    "percent": (lambda t: t.with_columns(pl.exclude("ward") * 100), "looks like 0-100"),
    "negative": (lambda t: t.with_columns(left=-0.2), "shares must lie in [0, 1]"),
    "sum": (lambda t: t.with_columns(left=pl.col("left") * 0.5), "shares of all classes must sum"),
    "column": (lambda t: t.drop("green"), "has no column 'green'"),
    "missing": (lambda t: t.with_columns(left=None), "is missing (NaN)"),
    "text": (lambda t: t.with_columns(left=pl.lit("many")), "holds text, such as 'many'"),
    "twice": (lambda t: pl.concat([t, t[:1]]), "more than one row for bag 'w0'"),
    "unmatched": (lambda t: t[1:], "no entry for bag 'w0'"),
    "names": (
        lambda t: t.rename({"left": "a", "right": "b", "green": "c"}),
        "has no columns 'left', 'right', 'green'",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_ugly_tables(command, folder, tmp_path, name):
    change, words = CHANGES[name]
    change(pl.read_csv(folder / "shares.csv")).write_csv(tmp_path / "shares.csv")
    arguments = fit_words(folder, tmp_path / "m.skops", *each("--share-column"), *history(folder))
    arguments[arguments.index("--shares") + 1] = tmp_path / "shares.csv"
    told = command(*arguments)
    assert told.code == 1
    assert words in told.words
    assert not (tmp_path / "m.skops").exists()


def test_unmatched_bags_are_dropped_on_request(command, folder, tmp_path):
    pl.read_csv(folder / "shares.csv")[1:].write_csv(tmp_path / "shares.csv")
    arguments = fit_words(
        folder, tmp_path / "m.skops", *each("--share-column"), "--on-unmatched", "drop"
    )
    arguments[arguments.index("--shares") + 1] = tmp_path / "shares.csv"
    told = command(*arguments)
    assert told.code == 0, told.words
    assert f"{(N_BAGS - 1) * BAG_SIZE} rows in {N_BAGS - 1} bags, {BAG_SIZE} more in no bag" in (
        told.words
    )


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ([*each("--share-column"), "--positive", "left"], 2, "--positive is for two classes"),
        ([*each("--share-column"), "--memory", "2GB"], 2, "--memory fits two classes"),
        (
            [*each("--share-column"), "--noise", "rounding:digits=2"],
            2,
            "--noise is for two classes",
        ),
        (each("--share-column", ["left", "right"]), 2, "two classes take one --share-column"),
        (each("--share-column", ["left", "left", "green"]), 2, "is of another class"),
        (["--share-column", "left"], 1, "holds 3 classes, 'green', 'left', 'right'; give the"),
    ],
)
def test_options_that_do_not_fit(command, folder, tmp_path, more, code, words):
    told = command(*fit_words(folder, tmp_path / "m.skops", *more, *history(folder)))
    assert told.code == code
    assert words in told.words


def test_check(command, folder, tmp_path):
    words = ["--target", folder / "people.csv", "--bag", "ward", "--ignore", "vote"]
    columns = each("--share-column")
    told = command("check", *words, "--shares", folder / "shares.csv", *columns)
    assert told.code == 0, told.words
    assert "classes left, right, green" in told.words
    assert "No errors: ready for" in told.words
    broken = pl.read_csv(folder / "shares.csv").with_columns(left=pl.col("left") * 0.5)
    broken.write_csv(tmp_path / "shares.csv")
    told = command("check", *words, "--shares", tmp_path / "shares.csv", *columns)
    assert (told.code, "shares of all classes must sum to 1" in told.words) == (1, True)
    told = command("check", *words, *columns, "--positive", "left")
    assert (told.code, "--positive is for two classes" in told.words) == (2, True)


def test_what_is_for_two_classes(command, folder, tmp_path):
    model = tmp_path / "m.skops"
    assert command(*fit_words(folder, model, *each("--share-column"))).code == 0
    people, shares = folder / "people.csv", ["--shares", folder / "shares.csv"]
    told = command("predict", model, people, *shares, "--share-column", "left", "-o", "p.csv")
    assert (told.code, "The model has the classes" in told.words) == (1, True)
    page = ["--target", people, *shares, *each("--share-column"), "-o", tmp_path / "r.html"]
    told = command("report", model, *page)
    assert (told.code, "bagshift report is for two classes" in told.words) == (2, True)


def test_evaluate(command, folder, tmp_path):
    model, people = tmp_path / "m.skops", folder / "people.csv"
    columns = each("--share-column")
    assert command(*fit_words(folder, model, *columns, *history(folder))).code == 0
    given = ["--shares", folder / "shares.csv", *columns]
    told = command("evaluate", model, "--target", people, *given, "--label", "vote")
    assert told.code == 0, told.words
    assert "all in-sample (fitted on)" in told.words
    assert "in-sample rows" in told.words
    assert f"over {N_BAGS} bags" in told.words
    assert "class predicted given recall precision" in told.words
    assert "left 0.275" in told.words
    told = command("evaluate", model, "--target", folder / "history.parquet", "--label", "vote")
    assert (told.code, "60, all fresh" in told.words) == (0, True)
    assert "class predicted recall precision" in told.words
    one = ["--shares", folder / "shares.csv", "--share-column", "left"]
    told = command("evaluate", model, "--target", people, *one)
    assert (told.code, "The model has the classes" in told.words) == (1, True)
    old = pl.read_csv(people).with_columns(vote=pl.lit("pirate"))
    old.write_csv(tmp_path / "pirates.csv")
    told = command("evaluate", model, "--target", tmp_path / "pirates.csv", "--label", "vote")
    assert (told.code, "holds 'pirate'; the model knows" in told.words) == (1, True)
