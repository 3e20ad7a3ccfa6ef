# SPDX-License-Identifier: BSD-3-Clause
"""Models of shares alone: how their classes are named, and met by labels."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest


def fit_shares(election: Any, *more: str, positive: str | None = "yes") -> Any:
    return election.fit(*more, source=None, label=None, positive=positive, ignore="truth")


def evaluate(election: Any, command: Any) -> Any:
    return command("evaluate", election.model, "--target", election.people, "--label", "truth")


def test_every_other_label_counts_as_the_class_that_was_made_up(
    election: Any, command: Any
) -> None:
    assert fit_shares(election).code == 0
    both = evaluate(election, command)
    assert both.code == 0, both.words
    assert "accuracy" in both.words
    three = pl.when(pl.col("truth") == "yes").then("truth")
    third = pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("blank")).otherwise(pl.lit("no"))
    election.change(election.people, lambda f: f.with_columns(truth=three.otherwise(third)))
    assert evaluate(election, command).words == both.words


def test_labels_without_the_positive_class_are_refused(election: Any, command: Any) -> None:
    assert fit_shares(election, positive="Yes").code == 0
    found = evaluate(election, command)
    assert found.code == 1
    assert "holds 'no', 'yes'; the model knows 'Yes', 'not Yes'" in found.words


def test_model_without_positive_class_says_how_to_name_it(election: Any, command: Any) -> None:
    assert fit_shares(election, positive=None).code == 0
    found = evaluate(election, command)
    assert found.code == 1
    assert "the model knows 0, 1; name the label" in found.words
    assert "--positive" in found.words


def test_negative_class_is_named(election: Any, command: Any) -> None:
    fitted = fit_shares(election, "--negative", "no")
    assert fitted.code == 0, fitted.words
    assert "the other one is no" in fitted.words
    assert evaluate(election, command).code == 0
    election.change(election.people, lambda f: f.with_columns(truth=pl.lit("maybe")))
    assert "holds 'maybe'; the model knows 'no', 'yes'" in evaluate(election, command).words


def test_shares_that_fit_the_mirror_image_alike(election: Any) -> None:
    election.change(election.results, lambda f: f.with_columns(yes_share=pl.lit(0.5)))
    fitted = fit_shares(election)
    assert fitted.code == 0, fitted.words
    lines = fitted.err.strip().splitlines()
    assert len(lines) == 3
    assert "All 8 bags have the share 0.5" in lines[0]
    assert "Warning: the columns did not help" in lines[1]
    assert "Warning: the shares fit this model and its mirror image" in lines[2]
    assert "--source" in lines[2]


@pytest.mark.parametrize("positive", [None, "no"])
def test_negative_class_goes_with_another_positive_one(
    election: Any, positive: str | None
) -> None:
    assert fit_shares(election, "--negative", "no", positive=positive).code == 2


def test_negative_class_agrees_with_the_history(election: Any) -> None:
    assert election.check("--negative", "no").code == 0
    found = election.check("--negative", "nay")
    assert found.code == 1
    assert "'nay' (--negative) is not the other label" in found.words
