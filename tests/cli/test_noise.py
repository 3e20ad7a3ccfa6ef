# SPDX-License-Identifier: BSD-3-Clause
"""Shares that were noised, estimated or rounded, through the command line."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import numpy as np
import polars as pl
import pytest

LAPLACE = "laplace:scale=0.15,unit=shares"


def add_noise(election: Any) -> None:
    """Add Laplace noise to the shares, so that some leave 0 to 1."""
    random = np.random.default_rng(3)
    election.change(
        election.results,
        lambda f: f.with_columns(
            yes_share=pl.col("yes_share") + pl.Series(random.laplace(scale=0.15, size=f.height)),
            noisy_votes=pl.col("yes_votes") + pl.Series([-2, 1] * (f.height // 2)),
        ),
    )
    assert pl.read_csv(election.results)["yes_share"].min() < 0


def refused(outcome: Any, *fragments: str) -> None:
    assert outcome.code == 1, outcome.words
    assert len(outcome.err.strip().splitlines()) == 1
    for fragment in fragments:
        assert fragment in outcome.words


def test_noisy_shares_to_predictions(election: Any, command: Any) -> None:
    add_noise(election)
    refused(election.fit(), "outside 0 to 1", "declare with --noise")
    fitted = election.fit(noise=LAPLACE)
    assert fitted.code == 0, fitted.words
    assert fitted.err == ""
    for fact in (
        "noise Laplace, scale 0.15 in shares",
        "held-out shares log-likelihood",
        "higher is better",
    ):
        assert fact in fitted.words, fact
    output = election.folder / "out.csv"
    assert command("predict", election.model, election.people, "-o", output).code == 0
    truth = pl.read_csv(election.people)["truth"]
    assert float((pl.read_csv(output)["label"] == truth).mean()) > 0.75
    with zipfile.ZipFile(election.model) as archive:
        report = json.loads(archive.read("manifest.json"))["fit"]
    assert report["noise"] == {"law": "laplace", "number": 0.15, "unit": "shares"}
    assert (
        report["held_out_counts"]["log_likelihood"] > report["held_out_counts"]["without_columns"]
    )
    assert "gradient_norm" in report


def test_check_and_evaluate_read_noisy_shares(election: Any, command: Any) -> None:
    add_noise(election)
    checked = election.check(noise=LAPLACE)
    assert checked.code == 0, checked.words
    assert "noise Laplace" in checked.words
    assert "the share 0 or 1" not in checked.words
    assert election.fit(noise=LAPLACE).code == 0
    shares = ["--shares", election.results, "--share-column", "yes_share"]
    evaluate = ["evaluate", election.model, "--target", election.people, *shares]
    refused(command(*evaluate), "outside 0 to 1", f"or add --noise {LAPLACE}, the law of")
    output = ["-o", election.folder / "out.csv"]
    refused(
        command("predict", election.model, election.people, *shares, *output),
        f"or add --noise {LAPLACE}, the law of the shares that the model was fitted on",
    )
    found = command(*evaluate, "--noise", LAPLACE)
    assert found.code == 0, found.words
    assert "share error" in found.words


def test_counts_with_noise(election: Any) -> None:
    add_noise(election)
    by_count = {"share_column": None, "count_column": "noisy_votes"}
    refused(election.fit(**by_count), "holds no count for bag")
    fitted = election.fit(**by_count, noise="geometric:epsilon=0.5")
    assert fitted.code == 0, fitted.words
    assert "two-sided geometric, epsilon 0.5" in fitted.words
    assert "held-out counts log-likelihood" in fitted.words
    half = pl.col("noisy_votes") + 0.5
    election.change(election.results, lambda f: f.with_columns(noisy_votes=half))
    refused(election.fit(**by_count, noise="geometric:epsilon=0.5"), "not whole", "or --noise")
    assert election.fit(**by_count, noise="laplace:scale=2,unit=counts").code == 0


def test_noise_of_each_bag(election: Any) -> None:
    random = np.random.default_rng(0)
    noisy = pl.Series(random.normal(scale=0.15, size=8)) * pl.Series([0, 1] * 4)
    election.change(
        election.results,
        lambda f: f.with_columns(
            yes_share=pl.col("yes_share") + noisy, se=pl.Series([0.0, 0.15] * 4)
        ),
    )
    law = "gaussian:column=se,unit=shares"
    fitted = election.fit(noise=law)
    assert fitted.code == 0, fitted.words
    assert "Gaussian, standard deviation in shares from column 'se'" in fitted.words
    election.change(
        election.results,
        lambda f: f.with_columns(se=pl.when(pl.col("precinct") == "004").then(-1).otherwise("se")),
    )
    message = "'se' of results.csv holds no scale of gaussian noise for bag '004' (such as -1)"
    refused(election.fit(noise=law), message, "0 stands for an exact number")
    assert message in election.check(noise=law).words
    refused(election.fit(noise="gaussian:column=see,unit=shares"), "did you mean 'se'?")


def test_column_of_the_noise_beside_the_rows_is_not_learned_from(election: Any) -> None:
    add_noise(election)
    table = pl.read_csv(election.results, schema_overrides={"precinct": pl.String})
    table = table.select("precinct", "yes_share", se=pl.lit(0.15))
    election.change(election.people, lambda f: f.join(table, on="precinct"))
    fitted = election.fit(shares=None, noise="laplace:column=se,unit=shares")
    assert fitted.code == 0, fitted.words
    assert "'se': noise of the share" in fitted.words


def test_rounded_shares(election: Any) -> None:
    rounded = pl.col("yes_share").round(2)
    election.change(election.results, lambda f: f.with_columns(yes_share=rounded))
    fitted = election.fit()
    assert fitted.code == 0, fitted.words
    assert fitted.err == ""
    declared = election.fit(noise="rounding:digits=2")
    assert declared.code == 0, declared.words
    assert declared.err == ""
    assert "rounded to 2 decimals" in declared.words
    refused(election.fit(noise="rounding:digits=1"), "no whole count fits", "--size-column")
    assert "no whole count fits" in election.check(noise="rounding:digits=1").words
    none = pl.when(pl.col("precinct") == "004").then(0.41).otherwise("yes_share")
    election.change(election.results, lambda f: f.with_columns(yes_share=none))
    fitted = election.fit()
    assert fitted.code == 0, fitted.words
    assert len(fitted.err.strip().splitlines()) == 1
    for part in (
        "Warning: ",
        "so it is taken as rounded: give --count-column",
        "--noise rounding",
    ):
        assert part in fitted.err
    assert "--noise rounding" in election.check().err


def test_percentages_are_not_taken_for_noise(election: Any) -> None:
    percent = pl.col("yes_share") * 100
    election.change(election.results, lambda f: f.with_columns(yes_share=percent))
    refused(election.fit(noise="gaussian:scale=0.2,unit=shares"), "looks like 0–100")


@pytest.mark.parametrize("method", ["tgplm", "ic-svm"])
def test_other_methods_say_that_they_do_not_weigh_noise(election: Any, method: str) -> None:
    add_noise(election)
    fitted = election.fit(noise=LAPLACE, method=method)
    assert fitted.code == 0, fitted.words
    assert f"Warning: --method {method} takes noisy numbers as they are" in fitted.err
