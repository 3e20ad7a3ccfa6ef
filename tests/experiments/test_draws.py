# SPDX-License-Identifier: BSD-3-Clause
"""Draws keep the protocol: what is fresh is fresh, and no target label reaches a feature."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from bagshift.datasets import LabelledDomains
from bagshift.exceptions import BagError
from bagshift.experiments.draws import BAG_KINDS, BagKind, make_draw, n_bagged_rows


@pytest.mark.parametrize(
    ("n_target", "bag_size", "expected"),
    # The protocol's own table: Reuters, newsgroups, intrusion, PIE.
    [
        (1208, 8, 600),
        (1208, 32, 576),
        (1043, 8, 520),
        (1043, 32, 512),
        (5000, 8, 800),
        (5000, 100, 2500),
        (1998, 100, 1300),
        (3000, 100, 2000),
        (84, 8, 40),
        (237, 8, 112),
    ],
)
def test_bagged_rows_of_the_protocol(n_target: int, bag_size: int, expected: int) -> None:
    assert n_bagged_rows(n_target, bag_size) == expected


@pytest.mark.parametrize("bags", BAG_KINDS)
def test_every_row_is_in_one_place(clouds: LabelledDomains, bags: BagKind) -> None:
    tagged = replace(clouds, X_target=np.column_stack([np.arange(200.0), clouds.X_target]))
    tagged = replace(tagged, X_source=np.column_stack([np.zeros(60), clouds.X_source]))
    draw = make_draw(tagged, "pixels", 8, 0, bags)
    rows = [np.round(255 * X[:, 0]).astype(int).tolist() for X in (draw.X_bagged, draw.X_fresh)]
    assert len(set(rows[0])) == len(rows[0])
    assert not set(rows[0]) & set(rows[1])
    labels = clouds.y_target[rows[0]]
    assert np.array_equal(labels, draw.y_bagged)
    for bag, share in draw.shares.items():
        assert share == np.mean(labels[draw.bag_ids == bag] == 1)
    if bags != "natural":
        assert set(np.bincount(draw.bag_ids)) == {8}
        assert len(rows[0]) == n_bagged_rows(200, 8, bags)


def test_natural_bags_are_groups(clouds: LabelledDomains) -> None:
    order = np.arange(200.0)
    tagged = LabelledDomains(
        np.zeros((60, 1)), clouds.y_source, order[:, None], clouds.y_target, clouds.groups
    )
    draw = make_draw(tagged, "pixels", 0, 1, "natural")
    groups = np.round(255 * draw.X_bagged[:, 0]).astype(int) % 20
    for bag in draw.shares:
        assert len(set(groups[draw.bag_ids == bag])) == 1
    assert np.bincount(draw.bag_ids).min() >= 5


def test_a_seed_is_a_draw(clouds: LabelledDomains) -> None:
    first, again, other = (make_draw(clouds, "table", 8, seed) for seed in (3, 3, 4))
    assert np.array_equal(first.X_bagged, again.X_bagged)
    assert np.array_equal(first.X_fresh, again.X_fresh)
    assert not np.array_equal(first.X_bagged, other.X_bagged)


def test_target_labels_reach_shares_only(clouds: LabelledDomains) -> None:
    draws = [
        make_draw(domains, "table", 8, 0)
        for domains in (clouds, replace(clouds, y_target=-clouds.y_target))
    ]
    for name in ("X_source", "X_bagged", "X_fresh", "bag_ids", "y_source"):
        assert np.array_equal(getattr(draws[0], name), getattr(draws[1], name)), name
    for bag, share in draws[0].shares.items():
        assert draws[1].shares[bag] == pytest.approx(1 - share)


def test_features_are_fitted_without_fresh_rows(clouds: LabelledDomains) -> None:
    raw = make_draw(clouds, "pixels", 8, 0)
    draw = make_draw(clouds, "table", 8, 0)
    known = 255 * np.concatenate([raw.X_source, raw.X_bagged])
    scaler = StandardScaler().fit(known)
    np.testing.assert_allclose(draw.X_fresh, scaler.transform(255 * raw.X_fresh))
    assert draw.kernel == "rbf"


def test_missing_values_become_medians_of_rows_that_are_not_fresh(
    clouds: LabelledDomains,
) -> None:
    X = clouds.X_target.copy()
    X[::7, 0] = np.nan
    X[:, 2] = np.nan
    source = np.where([True, True, False], clouds.X_source, np.nan)
    raw = make_draw(replace(clouds, X_target=X, X_source=source), "pixels", 8, 0)
    draw = make_draw(replace(clouds, X_target=X, X_source=source), "table", 8, 0)
    known = np.concatenate([raw.X_source, raw.X_bagged])[:, 0]
    middle = np.nanmedian(known)
    filled = np.where(np.isnan(known), middle, known)
    of_fresh = np.where(np.isnan(raw.X_fresh[:, 0]), middle, raw.X_fresh[:, 0])
    np.testing.assert_allclose(draw.X_fresh[:, 0], (of_fresh - filled.mean()) / filled.std())
    assert np.all(draw.X_fresh[:, 2] == 0)


def test_text_is_weighted_counts() -> None:
    rng = np.random.default_rng(0)
    counts = [sp.csr_matrix(rng.poisson(1.0, size=(n, 6))) for n in (30, 80)]
    labels = [np.where(np.arange(n) % 2, 1, -1).astype(np.int8) for n in (30, 80)]
    draw = make_draw(LabelledDomains(counts[0], labels[0], counts[1], labels[1]), "text", 8, 0)
    order = np.random.default_rng(0)
    source, target = order.permutation(30), order.permutation(80)
    known = sp.vstack([counts[0][source], counts[1][target[:40]]])
    weighting = TfidfTransformer(sublinear_tf=True).fit(known)
    expected = weighting.transform(counts[1][target[40:]])
    np.testing.assert_allclose(draw.X_fresh.toarray(), expected.toarray())
    assert draw.kernel == "linear"


def test_feature_bags_run_along_the_widest_column(clouds: LabelledDomains) -> None:
    wide = replace(clouds, X_target=clouds.X_target * [1.0, 100.0, 1.0])
    draw = make_draw(wide, "pixels", 8, 0, "feature")
    ends = sorted(
        (draw.X_bagged[draw.bag_ids == bag, 1].min(), draw.X_bagged[draw.bag_ids == bag, 1].max())
        for bag in draw.shares
    )
    assert all(low[1] <= high[0] for low, high in pairwise(ends))


def test_too_few_rows_are_refused(clouds: LabelledDomains) -> None:
    with pytest.raises(BagError, match="200 target rows are too few for two bags of 90"):
        make_draw(clouds, "table", 90, 0)


@pytest.mark.parametrize("bags", BAG_KINDS)
def test_no_features_are_made_for_too_few_rows(
    clouds: LabelledDomains, bags: BagKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    def features(*args: object) -> None:
        raise AssertionError

    monkeypatch.setattr("bagshift.experiments.draws.features_of", features)
    for n_rows in (0, 1, 12):
        few = replace(
            clouds,
            X_target=clouds.X_target[:n_rows],
            y_target=clouds.y_target[:n_rows],
            groups=np.arange(n_rows),
        )
        with pytest.raises(BagError, match=r"too few|Fewer than two natural groups"):
            make_draw(few, "table", 8, 0, bags)


@pytest.mark.parametrize("bag_size", [0, -3, 2.5, True])
def test_bag_sizes_are_whole_numbers(clouds: LabelledDomains, bag_size: int) -> None:
    with pytest.raises(ValueError, match="bag_size must be a whole number"):
        make_draw(clouds, "table", bag_size, 0)


def test_rows_without_groups_have_no_natural_bags(clouds: LabelledDomains) -> None:
    with pytest.raises(BagError, match="no natural groups"):
        make_draw(replace(clouds, groups=None), "table", 8, 0, "natural")
