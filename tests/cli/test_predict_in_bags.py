# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift predict`` with the shares of the rows' own bags."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

PLAIN = ["person", "label", "probability_no", "probability_yes", "decision"]
IN_BAG = ["label_in_bag", "probability_in_bag_no", "probability_in_bag_yes"]


def predict(election: Any, command: Any, *more: object, rows: Any = None) -> Any:
    output = election.folder / "out.csv"
    return command("predict", election.model, rows or election.people, "-o", output, *more)


def result(election: Any) -> pl.DataFrame:
    return pl.read_csv(election.folder / "out.csv")


def by_share(election: Any, *more: object) -> list[object]:
    return ["--shares", election.results, "--share-column", "yes_share", *more]


@pytest.mark.parametrize("method", ["count-likelihood", "tgplm", "ic-svm"])
def test_probabilities_add_up_to_the_counts(election: Any, command: Any, method: str) -> None:
    assert election.fit(method=method).code == 0
    assert predict(election, command).code == 0
    plain = result(election)
    assert plain.columns == PLAIN
    outcome = predict(election, command, *by_share(election))
    assert outcome.code == 0, outcome.words
    for fact in (
        "in bags people.csv: 48 rows in 8 bags",
        "never quote the accuracy of one for",
    ):
        assert fact in outcome.words, fact
    found = result(election)
    assert found.columns == PLAIN + IN_BAG
    assert found.select(PLAIN).equals(plain)
    sums = found["probability_in_bag_yes"].to_numpy().reshape(8, 6).sum(axis=1)
    np.testing.assert_allclose(sums, pl.read_csv(election.results)["yes_votes"], atol=1e-9)
    likelier = found["probability_in_bag_yes"] > found["probability_in_bag_no"]
    assert ((found["label_in_bag"] == "yes") == likelier).all()
    assert f"{likelier.sum()} are likelier yes than not" in outcome.words
    assert f"given the share {sums.sum():.0f} rows are expected to be yes" in outcome.words


def test_counts_and_names_of_other_columns(election: Any, command: Any) -> None:
    election.change(election.results, lambda f: f.rename({"precinct": "district"}))
    assert election.fit(shares_bag="district").code == 0
    shares = ["--shares", election.results, "--shares-bag", "district"]
    assert predict(election, command, *shares, "--share-column", "yes_share").code == 0
    first = result(election)
    assert predict(election, command, *shares, "--count-column", "yes_votes").code == 0
    assert first.equals(result(election))
    election.change(election.people, lambda f: f.rename({"precinct": "place"}))
    assert predict(election, command, *shares, "--count-column", "yes_votes").code == 1
    more = ["--count-column", "yes_votes", "--bag", "place"]
    assert predict(election, command, *shares, *more).code == 0
    assert first.equals(result(election))


def test_positive_class_that_sorts_first(election: Any, command: Any) -> None:
    words = {"yes": "Aye", "no": "no"}
    replace = pl.col("voted").replace_strict(words)
    election.change(election.history, lambda f: f.with_columns(replace))
    assert election.fit(positive="Aye").code == 0
    assert predict(election, command, *by_share(election)).code == 0
    found = result(election)
    assert found.columns[-2:] == ["probability_in_bag_Aye", "probability_in_bag_no"]
    sums = found["probability_in_bag_Aye"].to_numpy().reshape(8, 6).sum(axis=1)
    np.testing.assert_allclose(sums, pl.read_csv(election.results)["yes_votes"], atol=1e-9)


def test_rows_of_bags_without_share_keep_their_probability(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    election.change(election.results, lambda f: f.filter(pl.col("precinct") != "002"))
    outcome = predict(election, command, *by_share(election))
    assert outcome.code == 1
    assert "'002'" in outcome.err
    assert not (election.folder / "out.csv").exists()
    outcome = predict(election, command, *by_share(election, "--on-unmatched", "drop"))
    assert outcome.code == 0, outcome.words
    assert "6 rows in no bag" in outcome.words
    assert "Dropped: " in outcome.err
    rows = result(election)[6:12]
    np.testing.assert_array_equal(rows["probability_in_bag_yes"], rows["probability_yes"])


def test_bags_that_may_have_been_cut_are_mentioned(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    election.change(election.people, lambda f: f.filter(pl.int_range(pl.len()) % 6 < 3))
    sized = by_share(election, "--size-column", "voters")
    outcome = predict(election, command, *by_share(election))
    assert outcome.code == 0, outcome.words
    assert "Only 24 of the 48 rows that the model was fitted on are here" in outcome.err
    assert "Only 24" not in predict(election, command, *sized).words


def test_shares_that_would_teach_nothing_are_of_use_here(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    election.change(election.results, lambda f: f.with_columns(yes_share=pl.lit(0.5)))
    outcome = predict(election, command, *by_share(election))
    assert outcome.code == 0, outcome.words
    assert outcome.err == ""
    assert result(election)["probability_in_bag_yes"].sum() == pytest.approx(24)


def test_noise_of_the_shares(election: Any, command: Any) -> None:
    law = "gaussian:scale=0.2,unit=shares"
    assert election.fit(noise=law).code == 0
    outcome = predict(election, command, *by_share(election))
    assert "noise (Gaussian, standard deviation 0.2 in shares), and these are taken" in outcome.err
    assert f"if they have the same noise, add --noise {law}." in outcome.err
    sharp = result(election)["probability_in_bag_yes"]
    outcome = predict(election, command, *by_share(election, "--noise", law))
    assert outcome.code == 0, outcome.words
    assert outcome.err == ""
    assert "noise Gaussian" in outcome.words
    assert (sharp - result(election)["probability_in_bag_yes"]).abs().max() > 0.01


def test_model_without_probabilities_is_refused(election: Any, command: Any) -> None:
    assert election.fit(method="svm").code == 0
    outcome = predict(election, command, *by_share(election))
    assert outcome.code == 1
    assert "The method svm has no probabilities" in outcome.err
    assert not (election.folder / "out.csv").exists()


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (["--bag", "precinct"], "give --share-column or --count-column"),
        (["--shares", "results.csv"], "give --share-column or --count-column"),
        (["--noise", "geometric:epsilon=1"], "give --share-column or --count-column"),
        (["--share-column", "a", "--count-column", "b"], "not both"),
        (["--share-column", "a", "--noise", "nonsense"], "'nonsense' is no noise"),
    ],
)
def test_options_that_do_not_go_together(
    election: Any, command: Any, options: list[str], fragment: str
) -> None:
    assert election.fit().code == 0
    options = [str(election.results) if word == "results.csv" else word for word in options]
    outcome = predict(election, command, *options)
    assert outcome.code == 2, outcome.words
    assert fragment in outcome.words
