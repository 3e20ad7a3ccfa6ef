# SPDX-License-Identifier: BSD-3-Clause
"""What bags can teach, and every trouble of a dirty table named with its ids."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from bagshift import (
    BagError,
    Bags,
    GaussianNoise,
    GeometricNoise,
    LaplaceNoise,
    Rounding,
    noise_counts,
)
from bagshift.inspection import bag_report
from bagshift.inspection._league_losses import LOSSES, loss_range
from bagshift.inspection._published_noise import noise_variances, publish

ROOT = Path(__file__).resolve().parents[2]


def bags_of(labels, size=None, ids=None, **keywords):
    labels = np.asarray(labels)
    ids = np.arange(len(labels)) // size if ids is None else np.asarray(ids, dtype=object)
    counts = {bag: int(labels[ids == bag].sum()) for bag in dict.fromkeys(ids.tolist())}
    return Bags.from_arrays(ids, counts=counts, **keywords)


def random_labels(n_rows, share=0.4, seed=0):
    return (np.random.default_rng(seed).random(n_rows) < share).astype(int)


def warned(report, *parts):
    assert any(all(part in text for part in parts) for text in report.warnings), report.warnings


# --- dirty tables -------------------------------------------------------------------------

WARDS = [f"ward {k}" for k in range(12) for _ in range(6)]
VOTES = random_labels(72)
COUNTS = {f"ward {k}": int(VOTES[6 * k : 6 * k + 6].sum()) for k in range(12)}
SHARES = {ward: count / 6 for ward, count in COUNTS.items()}


def test_a_column_of_abstentions_is_a_class_of_its_own():
    frame = pd.DataFrame({"bag": list(COUNTS), "yes": 0.4, "no": 0.4, "none": 0.2})
    assert Bags.from_arrays(WARDS, frame).classes == ("yes", "no", "none")
    with pytest.raises(BagError, match=r"3 columns.*'yes', 'no', 'none'"):
        Bags.from_arrays(WARDS, frame, positive="yes")


def test_shares_that_leave_abstentions_out_are_named():
    frame = pd.DataFrame({"bag": list(COUNTS), "yes": 0.5, "no": 0.5})
    frame.loc[3, "no"] = 0.3
    with pytest.raises(BagError, match=r"sum to 1.*'ward 3'"):
        Bags.from_arrays(WARDS, frame, positive="yes", negative="no")


def test_duplicate_rows_of_the_table_are_refused_by_name():
    frame = pd.DataFrame({"bag": [*SHARES, "ward 7"], "share": [*SHARES.values(), 0.5]})
    with pytest.raises(BagError, match="'ward 7'"):
        Bags.from_arrays(WARDS, frame)


def test_missing_shares_are_named():
    shares = SHARES | {"ward 4": None, "ward 9": float("nan")}
    report = bag_report(Bags.from_arrays(WARDS, shares, on_unmatched="drop"))
    warned(report, "Bags 'ward 4', 'ward 9' of the rows have no share", "12 rows are in no bag")
    assert report.troubles.without_share == ("ward 4", "ward 9")
    assert report.n_rows - report.n_rows_in_bags == 12


@pytest.mark.parametrize("n_bags", [1, 2])
def test_one_or_two_bags(n_bags):
    report = bag_report(bags_of(random_labels(40), 40 // n_bags))
    if n_bags == 1:
        warned(report, "one bag only")
        assert report.spread is None
    else:
        warned(report, "There are 2 bags only")


def test_blank_ids_are_counted():
    ids = WARDS.copy()
    for row, blank in enumerate(["", None, float("nan"), "  "]):
        ids[row] = blank
    bags = Bags.from_arrays(ids, SHARES | {"": 0.2}, on_unmatched="drop")
    report = bag_report(bags)
    warned(report, "With a blank bag id, 4 rows are in no bag")
    warned(report, "1 share with a blank bag id was left out")


def test_bags_without_rows_and_total_rows_are_named():
    shares = SHARES | {f"ghost {k}": 0.5 for k in range(7)} | {"Grand Total": 0.4}
    report = bag_report(Bags.from_arrays(WARDS, shares, on_unmatched="drop"))
    warned(report, "'ghost 0', 'ghost 1', 'ghost 2', 'ghost 3', 'ghost 4' and 2 more", "no row")
    warned(report, "A total row was left out: 'Grand Total'")


def test_near_misses_between_rows_and_shares_are_named():
    ids = ["Ward 3 " if ward == "ward 3" else ward for ward in WARDS]
    report = bag_report(Bags.from_arrays(ids, SHARES, on_unmatched="drop"))
    warned(report, "'Ward 3 ' of the rows differs from 'ward 3' in spaces and letter case")


def test_near_identical_ids_are_named():
    ids = ["Ward 3" if row == 20 else ward for row, ward in enumerate(WARDS)]
    report = bag_report(Bags.from_arrays(ids, SHARES | {"Ward 3": 1.0}))
    warned(report, "letter case", "'ward 3', 'Ward 3'")
    assert report.troubles.near_identical == (("ward 3", "Ward 3"),)


@pytest.mark.parametrize("name", ["TOTAL", "county"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_bag_that_is_the_union_of_all(name, place):
    ids, votes = [name] * 72, VOTES
    ids = ids + WARDS if place == "first" else WARDS + ids
    report = bag_report(bags_of(np.tile(votes, 2), ids=ids))
    assert [bag for bag, _ in report.troubles.unions] == [name]
    warned(report, f"Bag '{name}' looks like the union of bags 'ward 0'", "and 7 more")


def test_subtotals_between_their_parts():
    ids, votes = [], []
    wards, all_votes = [ward for ward in WARDS for _ in range(4)], random_labels(288)
    for district in range(3):
        rows = slice(96 * district, 96 * district + 96)
        ids += [*wards[rows], *[f"district {district}"] * 96]
        votes += [*all_votes[rows], *all_votes[rows]]
    report = bag_report(bags_of(votes, ids=ids))
    assert [bag for bag, _ in report.troubles.unions] == ["district 0", "district 1", "district 2"]
    assert report.troubles.unions[1][1] == ("ward 4", "ward 5", "ward 6", "ward 7")


def test_unions_and_duplicates_by_their_rows():
    random = np.random.default_rng(3)
    X = random.normal(size=(72, 3))
    order = random.permutation(24)
    ids = np.array([*WARDS, *["district"] * 24, *["copy"] * 6], dtype=object)
    rows = np.concatenate([np.arange(72), order, np.arange(30, 36)])
    mixed = random.permutation(len(ids))
    for features in (X[rows], csr_matrix(X[rows]), pd.DataFrame(X[rows], columns=list("abc"))):
        taken = features.iloc[mixed] if hasattr(features, "iloc") else features[mixed]
        report = bag_report(bags_of(VOTES[rows][mixed], ids=ids[mixed]), taken)
        (bag, parts), (copies,) = report.troubles.unions[0], report.troubles.duplicates
        assert bag == "district"
        assert set(parts) == {"ward 0", "ward 1", "ward 2", "ward 3"}
        assert set(copies) == {"copy", "ward 5"}
        warned(report, "Bag 'district' looks like the union of", "'ward 0'")
        warned(report, "individuals count twice", "copy")


def test_bags_of_chance_are_no_unions():
    """In thousands of tables of random bags of random sizes, none is taken for a union."""
    random = np.random.default_rng(8)
    n_found = 0
    for _ in range(150):
        sizes = random.integers(2, 30, size=60)
        ids = np.repeat(np.arange(60), sizes)
        labels = random.integers(0, 2, len(ids))
        counts = np.bincount(ids, weights=labels).astype(int)
        bags = Bags.from_arrays(ids, counts=dict(enumerate(counts.tolist())))
        n_found += len(bag_report(bags).troubles.unions)
    assert n_found <= 3


def test_rows_that_repeat_by_their_few_values_are_no_unions():
    random = np.random.default_rng(8)
    X = random.integers(0, 2, size=(600, 3))
    troubles = bag_report(bags_of(random_labels(600), 6), X).troubles
    assert not troubles.unions
    assert not troubles.duplicates


def test_equal_shares_pure_single_and_huge_bags():
    equal = bag_report(bags_of(np.tile([0, 1], 60), 6))
    warned(equal, "All 20 bags have the share 0.5")
    ids = [*WARDS, "lone", *["vast"] * 900]
    labels = np.concatenate([VOTES, [1], random_labels(900, seed=4)])
    labels[6:12] = 0
    report = bag_report(bags_of(labels, ids=ids))
    warned(report, "share 0 or 1", "'ward 1'", "'lone'")
    warned(report, "single row: 'lone'")
    warned(report, "Bag 'vast' is far larger", "% of all individuals")
    table = report.bag_table()
    troubles = dict(zip(table["bag"], table["troubles"], strict=True))
    assert troubles["lone"] == "pure, single row"
    assert troubles["vast"] == "huge"


def test_ids_are_shown_as_text():
    bad = "<script>alert(1)</script>"
    report = bag_report(Bags.from_arrays([bad, "=cmd()", "=cmd()"], {bad: 1.0, "=cmd()": 0.5}))
    assert repr(bad) in str(report)
    assert "<script>" not in report._repr_html_()


# --- spread and worth ---------------------------------------------------------------------

LAWS = [
    None,
    Rounding(1),
    GeometricNoise(0.7),
    LaplaceNoise(0.2, unit="shares"),
    GaussianNoise(1.5, unit="counts"),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_random_bags_are_found_to_be_random(law):
    """Under random grouping the test of the spread is right: p is uniform, the ratio is 1."""
    random = np.random.default_rng(2)
    ids = np.repeat(np.arange(40), 12)
    template = Bags.from_arrays(ids, dict.fromkeys(range(40), 0.5), noise=law)
    ratios, p_values = [], []
    for _ in range(150):
        counts = random.binomial(12, 0.4, size=(1, 40)).astype(float)
        shares = publish(counts, template, random)[0]
        report = bag_report(Bags.from_arrays(ids, dict(enumerate(shares)), noise=law))
        ratios.append(report.spread.ratio.estimate)
        p_values.append(report.spread.p_value)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.07)
    assert 0.005 <= np.mean(np.array(p_values) < 0.05) <= 0.11


@pytest.mark.parametrize("law", LAWS[1:], ids=repr)
def test_variances_are_those_of_the_draws(law):
    ids = np.repeat(np.arange(3), [4, 9, 40])
    bags = Bags.from_arrays(ids, {0: 0.5, 1: 0.5, 2: 0.5}, noise=law)
    random = np.random.default_rng(0)
    counts = random.binomial(bags.sizes.astype(int), 0.5, size=(60_000, 3)).astype(float)
    moved = publish(counts, bags, random) - counts / bags.sizes
    # Rounding errors of few counts are not even: the formula is then a rough one.
    places, rough = ([2], 0.15) if isinstance(law, Rounding) else ([0, 1, 2], 0.06)
    assert moved.var(axis=0)[places] == pytest.approx(noise_variances(bags)[places], rel=rough)


def test_spread_of_alike_and_of_evened_out_bags():
    random = np.random.default_rng(0)
    chances = random.beta(1, 1, 60).repeat(10)
    wide = bag_report(bags_of((random.random(600) < chances).astype(int), 10)).spread
    # Beta(1, 1) has an intraclass correlation of 1/3: the variance is 1 + 9/3 that of chance.
    assert 4.0 in wide.ratio
    assert wide.is_wide
    assert wide.p_value < 0.01
    even = np.tile([0, 0, 1, 0, 0, 1, 0, 0, 1, 0], 60)
    even[7] = 1
    narrow = bag_report(bags_of(even, 10))
    assert narrow.spread.is_narrow
    warned(narrow, "more alike than chance")


def test_interval_of_the_ratio_covers():
    random = np.random.default_rng(4)
    truth, n_covered = 1 + 9 / 6, 0
    for _ in range(150):
        chances = random.beta(2, 3, 80).repeat(10)  # intraclass correlation 1/6
        labels = (random.random(800) < chances).astype(int)
        n_covered += truth in bag_report(bags_of(labels, 10)).spread.ratio
    assert 0.88 <= n_covered / 150 <= 1.0


def test_many_bags():
    """Beyond 4,000 bags the random ratios are taken as normal."""
    spread = bag_report(bags_of(random_labels(60_000), 10)).spread
    low, high = spread.of_random_bags
    assert low < spread.ratio.estimate < high
    assert high - low == pytest.approx(4 * np.sqrt(2 / 6000), rel=0.35)


def test_worth_of_noisy_bags_and_of_samples():
    exact = bags_of(random_labels(400), 10)
    assert bag_report(exact).effective_bags == pytest.approx(40)
    noisy = bag_report(noise_counts(exact, 0.3, testing=True, seed=1))
    q = np.exp(-0.3)
    rest = 10 * 0.75 * 0.1  # the variance that a machine right for 90 % of rows leaves
    part = rest / (rest + 2 * q / (1 - q) ** 2)
    assert noisy.effective_bags == pytest.approx(40 * part)
    assert noisy.expected_loss.bag_size == pytest.approx(min(10 / part, 400))
    warned(noisy, "Noise", "leave little")
    sampled = Bags.from_arrays(
        np.repeat(np.arange(40), 10),
        dict.fromkeys(range(40), 0.4),
        sizes=dict.fromkeys(range(40), 40),
    )
    assert bag_report(sampled, accuracy=0.5).effective_bags == pytest.approx(10)
    with pytest.raises(ValueError, match="accuracy"):
        bag_report(sampled, accuracy=1.0)


# --- means --------------------------------------------------------------------------------


def test_rank_and_condition_of_means():
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 4))
    X[:, 2] = X[:, 0] - 2 * X[:, 1]
    X = np.column_stack([X, np.full(300, 7.0)])
    bags = bags_of(random_labels(300), 10)
    dense, sparse = bag_report(bags, X).means, bag_report(bags, csr_matrix(X)).means
    assert (dense.rank, dense.n_features, dense.n_constant) == (3, 5, 1)
    warned(bag_report(bags, X), "3 directions only, of 4")
    assert 0.6 < dense.spread_ratio < 1.5
    centred = X[:, :4].reshape(30, 10, 4).mean(axis=1) - X[:, :4].mean(axis=0)
    values = np.linalg.svd(centred / X[:, :4].std(axis=0), compute_uv=False)
    assert dense.condition == pytest.approx(values[0] / values[2])
    assert sparse.rank == 3
    assert sparse.condition == pytest.approx(dense.condition)
    assert sparse.spread_ratio == pytest.approx(dense.spread_ratio)


def test_more_features_than_bags():
    X = np.random.default_rng(0).normal(size=(60, 50))
    means = bag_report(bags_of(random_labels(60), 10), X).means
    assert means.rank == 5


def test_frames_of_features():
    X = pl.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0) ** 2})
    assert bag_report(bags_of(random_labels(60), 10), X).means.rank == 2


# --- figures of the league ----------------------------------------------------------------


@pytest.mark.parametrize("size", list(LOSSES))
def test_losses_are_those_of_the_published_league(size):
    path = ROOT / "docs" / "results" / "2026-11-30" / f"league-random-{size}-tasks.csv"
    accuracy = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["task"].startswith("pie"):
                found = float(row["fresh accuracy"] or "nan")
                accuracy.setdefault(row["task"], {})[row["method"]] = found
    losses = [100 * (m["ceiling"] - m["CountLikelihoodCV"]) for m in accuracy.values()]
    n_tasks, low, middle, high, worst = LOSSES[size]
    assert len(losses) == n_tasks
    assert np.quantile(losses, [0.1, 0.5, 0.9, 1.0]) == pytest.approx(
        [low, middle, high, worst], abs=0.006
    )


def test_losses_between_and_beyond():
    assert loss_range(8).high == pytest.approx(LOSSES[8][3])
    assert LOSSES[8][3] < loss_range(16).high < LOSSES[32][3]
    assert loss_range(16).is_measured
    assert str(loss_range(3)).startswith("at most")
    assert not loss_range(200).is_measured
    assert "nothing was measured" in str(loss_range(200))


def test_what_is_refused():
    bags = bags_of(random_labels(20), 5)
    with pytest.raises(TypeError, match="must be a Bags"):
        bag_report([0, 1])
    with pytest.raises(ValueError, match="X has 19 rows but the bags have 20"):
        bag_report(bags, np.zeros((19, 2)))
    with pytest.raises(ValueError, match="NaN"):
        bag_report(bags, np.full((20, 2), np.nan))
    with pytest.raises(BagError, match="cut"):
        bag_report(bags[:7])
    with pytest.raises(BagError, match="no bag"):
        bag_report(Bags.unlabelled(4))


def test_lines_fit_on_a_page():
    text = str(
        bag_report(bags_of(random_labels(400), 10), np.random.default_rng(0).normal(size=(400, 9)))
    )
    assert max(map(len, text.splitlines())) <= 96
    assert text.startswith("40 bags with 400 rows: what they can teach")
