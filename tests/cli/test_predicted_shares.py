# SPDX-License-Identifier: BSD-3-Clause
"""Predicted shares where classes overlap: probabilities tell them, and labels do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

N_BAGS, SIZE = 20, 12
SHARES = ("--share-column", "yes_share")


def overlapping(election: Any, *, informed: bool = True) -> None:
    """Replace the people: chances lie from 0.1 to 0.5, so that hardly a label is yes."""
    random = np.random.default_rng(5)
    x = np.repeat(random.normal(size=N_BAGS), SIZE) + 0.5 * random.normal(size=N_BAGS * SIZE)
    yes = random.random(len(x)) < 0.1 + 0.4 / (1 + np.exp(-2 * x))
    precincts = np.repeat([f"{number:03d}" for number in range(N_BAGS)], SIZE)
    counts = yes.reshape(N_BAGS, SIZE).sum(axis=1)
    age = x if informed else random.normal(size=len(x))
    pl.DataFrame({"age": age, "precinct": precincts}).write_csv(election.people)
    pl.DataFrame(
        {"precinct": precincts[::SIZE], "yes_share": counts / SIZE, "yes_votes": counts}
    ).write_csv(election.results)


def fit(election: Any, *more: str, **replaced: Any) -> Any:
    options = {"source": None, "label": None, "id": None, "kernel": "linear"} | replaced
    return election.fit("--c-target", "1", *more, **options)


def evaluate(election: Any, command: Any, *more: object) -> Any:
    shares = ["--shares", election.results, *SHARES, *more]
    return command("evaluate", election.model, "--target", election.people, *shares)


def number_before(words: str, phrase: str) -> float:
    return float(words.partition(phrase)[0].split()[-1])


def test_share_errors_are_those_of_probabilities(election: Any, command: Any) -> None:
    overlapping(election)
    fitted = fit(election)
    assert fitted.code == 0, fitted.words
    held_out = number_before(fitted.words, " on held-out bags")
    without = number_before(fitted.words, " without the columns, by")
    assert held_out < without
    assert number_before(fitted.words, " on the bags it was fitted on") < without
    found = evaluate(election, command).words
    assert number_before(found, " without the columns, by") == without
    given = pl.read_csv(election.results)["yes_share"].to_numpy()
    assert without == pytest.approx(np.abs(given - given.mean()).mean(), abs=6e-4)
    assert number_before(found, " if predicted labels are counted instead") > without
    predicted = number_before(found, ", the mean probability of yes")
    assert number_before(found, " of the rows are labelled yes") < 0.8 * predicted
    assert predicted == pytest.approx(given.mean(), abs=0.03)


def test_machines_that_are_searched_by_labels_say_so(election: Any) -> None:
    fitted = election.fit(method="tgplm")
    assert "a bag's share of predicted labels from its given share" in fitted.words
    assert "without the columns, by the overall share alone" in fitted.words


def test_columns_that_do_not_help_are_named_as_such(election: Any, command: Any) -> None:
    overlapping(election, informed=False)
    fitted = fit(election)
    assert fitted.code == 0, fitted.words
    assert (
        "Warning: the columns did not help to predict the numbers of held-out bags; do not trust "
        "predictions of single rows.\n"
    ) in fitted.err
    election.change(
        election.people, lambda f: f.with_columns(age=-10 * pl.col("age").shuffle(seed=1))
    )
    found = evaluate(election, command)
    assert found.code == 0, found.words
    assert found.err.startswith("Warning: the columns do not help to predict")


def test_likelihood_of_counts_in_evaluate(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    found = evaluate(election, command)
    assert "counts probability 0." in found.words
    assert "without the columns (-" in found.words
    by_sample = evaluate(election, command, "--size-column", "voters").words
    assert "shares log-likelihood -" in by_sample
    assert election.fit(method="svm").code == 0
    assert "log-likelihood" not in evaluate(election, command).words


def test_worst_bags_are_not_simply_the_noisiest(election: Any, command: Any) -> None:
    assert election.fit().code == 0
    change = pl.Series([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.4])
    election.change(
        election.results,
        lambda f: f.with_columns(
            yes_share=pl.col("yes_share") + change, se=pl.Series([0.5] + [0.02] * 7)
        ),
    )
    found = evaluate(election, command, "--noise", "gaussian:column=se,unit=shares")
    assert found.code == 0, found.words
    assert "the given shares are noisy, and that is a part of it" in found.words
    title, _, table = found.out.partition("by error against spread")
    assert "Worst bags" in title
    header, first, *_ = table.strip().splitlines()[1:]
    assert header.split()[-2:] == ["error", "spread"]
    assert first.split()[0] == "008"
