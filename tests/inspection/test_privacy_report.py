# SPDX-License-Identifier: BSD-3-Clause
"""What releases disclose, against enumeration of all labellings."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bagshift import (
    BagError,
    Bags,
    GaussianNoise,
    GeometricNoise,
    LaplaceNoise,
    Rounding,
    noise_counts,
)
from bagshift.inspection import privacy_report
from bagshift.inspection._integer_disclosure import integer_determined
from bagshift.inspection._linear_disclosure import linearly_determined
from bagshift.inspection._noise_cost import noise_cost
from bagshift.inspection._released_cells import cut_into_cells


def release(groups, labels, **keywords):
    """Exact counts of the labels in groups; group -1 is no bag."""
    groups, labels = np.asarray(groups), np.asarray(labels)
    ids = [f"bag {group}" if group >= 0 else Bags.NO_BAG for group in groups]
    counts = {f"bag {g}": int(labels[groups == g].sum()) for g in np.unique(groups) if g >= 0}
    return Bags.from_arrays(ids, counts=counts, **keywords)


def all_labellings(n_rows):
    return np.array(list(product([0, 1], repeat=n_rows)))


def with_these_counts(groupings, labels):
    """All labellings that have the counts of `labels` in every group."""
    every = all_labellings(len(labels))
    fits = np.ones(len(every), dtype=bool)
    for groups in groupings:
        for group in np.unique(groups[groups >= 0]):
            inside = groups == group
            fits &= every[:, inside].sum(axis=1) == labels[inside].sum()
    return every[fits]


def in_row_space(groupings, n_rows):
    """Unit vectors in the row space of the incidence, by elimination with fractions."""
    rows = [
        [Fraction(int(inside)) for inside in groups == group]
        for groups in groupings
        for group in np.unique(groups[groups >= 0])
    ]
    pivots = 0
    for column in range(n_rows):
        place = next((r for r in range(pivots, len(rows)) if rows[r][column]), None)
        if place is None:
            continue
        rows[pivots], rows[place] = rows[place], rows[pivots]
        rows[pivots] = [value / rows[pivots][column] for value in rows[pivots]]
        for other in range(len(rows)):
            if other != pivots and rows[other][column]:
                factor = rows[other][column]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[pivots], strict=True)
                ]
        pivots += 1
    found = np.zeros(n_rows, dtype=bool)
    for row in rows[:pivots]:
        if sum(value != 0 for value in row) == 1:
            found[next(j for j in range(n_rows) if row[j])] = True
    return found


def check_against_enumeration(groupings, labels):
    report = privacy_report([release(groups, labels) for groups in groupings])
    possible = with_these_counts(groupings, labels)
    is_sure = (possible == possible[0]).all(axis=0)
    expected = [int(label) if sure else None for label, sure in zip(labels, is_sure, strict=True)]
    assert report.disclosed_labels.tolist() == expected
    assert (report.determined == is_sure).all()
    assert report.n_unsettled_rows == 0
    assert (report.linearly_determined == in_row_space(groupings, len(labels))).all()
    assert (report.in_pure_bag <= is_sure).all()


def partitions(n_rows):
    """All ways to group rows, groups numbered as they appear."""
    return [
        np.array(groups)
        for groups in product(range(n_rows), repeat=n_rows)
        if all(g <= max(groups[:i], default=-1) + 1 for i, g in enumerate(groups))
    ]


def check_all(n_rows, n_releases):
    """All labellings, but for mirror images, in all groupings, but for their order."""
    for groupings in combinations_with_replacement(partitions(n_rows), n_releases):
        for labels in all_labellings(n_rows)[: 2 ** (n_rows - 1)]:
            check_against_enumeration(groupings, labels)


@pytest.mark.parametrize(("n_rows", "n_releases"), [(3, 1), (3, 2), (3, 3), (4, 2)])
def test_all_small_cases(n_rows, n_releases):
    check_all(n_rows, n_releases)


@pytest.mark.nightly
@pytest.mark.parametrize(("n_rows", "n_releases"), [(4, 3), (5, 2)])
def test_all_larger_cases(n_rows, n_releases):
    check_all(n_rows, n_releases)


@st.composite
def overlapping(draw):
    n_rows = draw(st.integers(1, 8))
    some = st.lists(st.integers(-1, n_rows - 1), min_size=n_rows, max_size=n_rows)
    groupings = [np.array(g) for g in draw(st.lists(some, min_size=1, max_size=4))]
    labels = draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows))
    return [g for g in groupings if (g >= 0).any()], np.array(labels)


@settings(max_examples=300)
@given(overlapping())
def test_rows_in_some_bags(case):
    groupings, labels = case
    if groupings:
        check_against_enumeration(groupings, labels)


@settings(max_examples=200)
@given(overlapping())
def test_integer_programs_find_what_lists_find(case):
    groupings, labels = case
    if not groupings:
        return
    counts = [np.bincount(g[g >= 0], weights=labels[g >= 0]).astype(int) for g in groupings]
    cells = cut_into_cells(groupings, counts, counts)
    unknown = np.full(cells.n_cells, -1)
    listed, searched = (integer_determined(cells, unknown, 200, most) for most in (10**6, 0))
    assert (listed.all_negative == searched.all_negative).all()
    assert (listed.all_positive == searched.all_positive).all()
    assert searched.is_settled.all()


@settings(max_examples=150)
@given(overlapping())
def test_a_search_that_is_cut_short_claims_nothing_false(case):
    groupings, labels = case
    if not groupings:
        return
    counts = [np.bincount(g[g >= 0], weights=labels[g >= 0]).astype(int) for g in groupings]
    cells = cut_into_cells(groupings, counts, counts)
    linear, values = linearly_determined(cells)
    short, full = integer_determined(cells, values, 0, 0), integer_determined(cells, values, 200)
    for found, all_found in (
        (short.all_negative, full.all_negative),
        (short.all_positive, full.all_positive),
    ):
        assert (found <= all_found).all()
        assert not (all_found & ~found & short.is_settled).any()
    follows = linear & (cells.sizes == 1)
    assert (follows <= (short.all_negative | short.all_positive)).all()


def test_what_was_not_searched_is_said():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 300)
    releases = [release(random.permutation(300) // 8, labels) for _ in range(3)]
    report = privacy_report(releases, max_cells=0)
    assert 0 < report.n_unsettled_rows <= 300 - report.determined.sum()
    assert "too large for an exact search" in str(report)
    assert "at least" in str(report)


@settings(max_examples=100)
@given(overlapping(), st.integers(0, 2**32 - 1))
def test_ranges_of_counts(case, seed):
    """Rounded shares and samples of larger bags, against enumeration."""
    groupings, labels = case
    if not groupings:
        return
    random = np.random.default_rng(seed)
    every, releases = all_labellings(len(labels)), []
    fits = np.ones(len(every), dtype=bool)
    for groups in groupings:
        shares, sizes, kinds = {}, {}, random.integers(0, 3)
        for group in np.unique(groups[groups >= 0]):
            inside = groups == group
            n_unseen = int(random.integers(0, 3)) if kinds == 1 else 0
            size = int(inside.sum()) + n_unseen
            count = int(labels[inside].sum()) + int(random.integers(0, n_unseen + 1))
            shares[group], sizes[group] = count / size, size
            here = every[:, inside].sum(axis=1)
            if kinds == 2:
                shares[group] = round(count / size, 1)
                off = np.abs(np.arange(size + 1) / size - shares[group]) > 0.05 + 1e-9
                fits &= ~off[here]
            else:
                fits &= (here <= count) & (here >= count - n_unseen)
        ids = [group if group >= 0 else Bags.NO_BAG for group in groups]
        law = Rounding(1) if kinds == 2 else None
        releases.append(Bags.from_arrays(ids, shares, sizes=sizes, noise=law))
    possible = every[fits]
    report = privacy_report(releases)
    assert (report.determined == (possible == possible[0]).all(axis=0)).all()


@pytest.mark.parametrize("most_steps", [0, np.inf])
def test_elimination_and_projection_agree_with_fractions(most_steps):
    random = np.random.default_rng(1)
    n_found = 0
    for _ in range(60):
        groupings = [random.permutation(12) // 3 for _ in range(random.integers(3, 6))]
        labels = random.integers(0, 2, 12)
        counts = [np.bincount(groups, weights=labels).astype(int) for groups in groupings]
        ranges = [(c, c) for c in counts]
        cells = cut_into_cells(groupings, *zip(*ranges, strict=True))
        linear, values = linearly_determined(cells, most_steps=most_steps)
        alone = np.append(linear & (cells.sizes == 1), False)[cells.cell_of_row]
        # Bags that say nothing (none do here) are the only equations that cells leave out.
        assert (alone == in_row_space(groupings, 12)).all()
        follows = np.flatnonzero(alone)
        assert (values[cells.cell_of_row[follows]] == labels[follows]).all()
        n_found += len(follows)
    assert n_found > 50


def test_two_large_releases_are_solved_exactly():
    """Bags of two, in two groupings, are paths and cycles: whole ones follow from their ends."""
    random = np.random.default_rng(0)
    n_rows = 20_000
    labels = random.integers(0, 2, n_rows)
    report = privacy_report([release(random.permutation(n_rows) // 2, labels) for _ in range(2)])
    assert report.n_unsettled_rows == 0
    # In a cycle of alternating labels nothing follows, in all others everything does.
    assert report.determined.mean() > 0.99
    found = report.disclosed_labels[report.determined].astype(int)
    assert (found == labels[report.determined]).all()


# --- guesses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "size", "pure", "attack"),
    [
        (0.5, 2, 0.500, 0.750),
        (0.5, 4, 0.125, 0.688),
        (0.5, 8, 0.0078, 0.637),
        (0.5, 32, 0.0, 0.570),
        (0.3, 4, 0.248, 0.746),
        (0.3, 8, 0.058, 0.718),
        (0.3, 16, 0.003, 0.704),
        (0.1, 8, 0.430, 0.900),
        (0.1, 32, 0.034, 0.900),
    ],
)
def test_expected_values_of_random_bags(share, size, pure, attack):
    chances = stats.binom.pmf(np.arange(size + 1), size, share)
    reports = [
        privacy_report(Bags.from_arrays(["a"] * size, counts={"a": count}))
        for count in range(size + 1)
    ]
    found_pure = chances @ [report.in_pure_bag.mean() for report in reports]
    found_attack = chances @ [report.releases[0].attack_accuracy for report in reports]
    assert found_pure == pytest.approx(pure, abs=6e-4)
    assert found_attack == pytest.approx(attack, abs=6e-4)


def test_attack_on_what_is_left():
    labels = np.array([1, 1, 0, 0, 0, 1])
    report = privacy_report(
        [release([0, 0, 0, 1, 1, 1], labels), release([0, 0, 1, 1, 1, 0], labels)]
    )
    assert report.determined.all()
    assert report.attack_accuracy == 1.0
    assert report.prior_accuracy == 0.5


def test_attack_on_noisy_counts_goes_by_the_posterior():
    random = np.random.default_rng(5)
    size, n_bags = 20, 2000
    ids = np.repeat(np.arange(n_bags), size)
    chances = random.beta(1, 3, n_bags)
    labels = (random.random(len(ids)) < chances[ids]).astype(int)
    exact = release(ids, labels)
    noisy = noise_counts(exact, 0.5, testing=True, seed=3)
    look = privacy_report(noisy).releases[0]
    # The guess that the report describes, against the labels.
    from bagshift.inspection._majority_attack import expected_positives

    guess = (expected_positives(noisy) > 0.5)[noisy.bag_index]
    assert look.attack_accuracy == pytest.approx((guess == labels).mean(), abs=0.01)
    assert look.prior_accuracy < look.attack_accuracy
    assert look.attack_accuracy < privacy_report(exact).releases[0].attack_accuracy


# --- noise --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_cost_of_noise_is_what_noise_costs(epsilon):
    random = np.random.default_rng(int(epsilon * 10))
    n_bags, size = 4000, 9
    ids = np.repeat(np.arange(n_bags), size)
    labels = (random.random(len(ids)) < 0.4).astype(int)
    exact = release(ids, labels)
    # With an accuracy of a half, columns say nothing, and the count is explained by itself.
    cost = privacy_report(exact, epsilon=epsilon, accuracy=0.5).releases[0].cost
    noisy = noise_counts(exact, epsilon, testing=True, seed=11)
    noise = np.rint(noisy.counts[:, 1] - exact.counts[:, 1])
    assert cost.mean_shift == pytest.approx(np.abs(noise).mean(), rel=0.06)
    assert cost.share_deviation == pytest.approx(noise.std() / size, rel=0.06)
    counts = noisy.counts[:, 1]
    coin = random.random(n_bags) < 0.5
    guess = np.where(counts == size / 2, coin, counts > size / 2)[noisy.bag_index]
    error = 4 * np.sqrt(0.25 / n_bags)
    assert cost.attack_accuracy == pytest.approx((guess == labels).mean(), abs=error)
    explained = np.corrcoef(counts, exact.counts[:, 1])[0, 1] ** 2
    assert cost.kept_information == pytest.approx(explained, abs=0.06)
    assert cost.effective_bags == pytest.approx(n_bags * cost.kept_information)
    assert cost.like_bags_of == pytest.approx(size / cost.kept_information)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 5.0])
@pytest.mark.parametrize("size", [1, 4, 9])
def test_attack_on_noise_by_the_law(epsilon, size):
    values = np.arange(-2000, 2001)
    chances = stats.dlaplace.pmf(values, epsilon)
    for count in range(size + 1):
        noisy = count + values
        right = np.where(
            noisy * 2 == size, 0.5, np.where(noisy * 2 > size, count, size - count) / size
        )
        cost = noise_cost(np.array([count / size]), np.array([float(size)]), epsilon)
        assert cost.attack_accuracy == pytest.approx(chances @ right, abs=1e-9)


def test_noisy_numbers_disclose_nothing_for_sure():
    for law in (
        GeometricNoise(1.0),
        LaplaceNoise(1.0, unit="counts"),
        GaussianNoise(1.0, unit="counts"),
    ):
        bags = Bags.from_arrays(["a", "a", "b"], counts={"a": 2, "b": 0}, noise=law)
        report = privacy_report([bags, bags])
        assert not report.determined.any()
        assert not report.in_pure_bag.any()
        assert report.releases[0].cost is None
        assert "none for sure" in str(report)


def test_exact_bags_beside_noisy_ones():
    laws = {"a": GeometricNoise(1.0), "b": None}
    bags = Bags.from_arrays(["a", "a", "b", "b"], counts={"a": 2, "b": 2}, noise=laws)
    assert privacy_report(bags).determined.tolist() == [False, False, True, True]


def test_epsilons_add_up_by_row():
    first = Bags.from_arrays(["a", "a", "b"], counts={"a": 1, "b": 0}, noise=GeometricNoise(0.5))
    second = Bags.from_arrays(
        ["c", "c", Bags.NO_BAG], {"c": 0.2}, noise=LaplaceNoise(2.0, unit="shares")
    )
    assert privacy_report([first, second]).epsilon_spent == pytest.approx(0.5 + 1 / 4)
    exact = Bags.from_arrays(["a", "a", "b"], counts={"a": 1, "b": 0})
    assert np.isinf(privacy_report([first, exact]).epsilon_spent)


def test_total_epsilon():
    bags = Bags.from_arrays(["a", "a", "b"], counts={"a": 1, "b": 0})
    assert privacy_report(bags, epsilon=0.5).total_epsilon == 0.5
    assert privacy_report([bags, bags], epsilon=0.5).total_epsilon == 1.0
    report = privacy_report([bags, bags], epsilon=0.5, n_classes=3)
    assert (report.total_epsilon, report.sensitivity) == (2.0, 2)
    assert privacy_report(bags).total_epsilon is None
    # A row in one of the two only.
    other = Bags.from_arrays([Bags.NO_BAG, Bags.NO_BAG, Bags.NO_BAG, "x"], {"x": 1.0})
    wider = Bags.from_arrays(["a", "a", "b", Bags.NO_BAG], counts={"a": 1, "b": 0})
    assert privacy_report([wider, other], epsilon=0.5).total_epsilon == 0.5


def test_more_noise_costs_more():
    shares, sizes = np.full(50, 0.3), np.full(50, 10.0)
    costs = [noise_cost(shares, sizes, epsilon) for epsilon in (0.01, 0.1, 1.0, 10.0)]
    for name in ("kept_information", "effective_bags"):
        values = [getattr(cost, name) for cost in costs]
        assert values == sorted(values)
    assert costs[-1].kept_information == pytest.approx(1.0, abs=2e-4)
    assert costs[0].like_bags_of == 500.0
    assert "beyond which nothing was measured" in str(costs[0].loss_after)


# --- labels, names and words --------------------------------------------------------------


def test_known_labels_are_disclosed_and_used():
    bags = Bags.from_arrays(["a", "a", Bags.NO_BAG], {"a": 0.5}, positive="yes", negative="no")
    labelled = bags.with_labels([None, None, "no"])
    other = Bags.from_arrays(["x", Bags.NO_BAG, "x"], {"x": 0.5}, positive="yes", negative="no")
    report = privacy_report([labelled, other])
    assert report.disclosed_labels.tolist() == ["yes", "no", "no"]
    assert report.in_pure_bag.tolist() == [False, False, True]
    assert np.isinf(report.epsilon_spent)


def test_source_rows_play_no_part():
    bags = Bags.from_arrays(["a", "a"], {"a": 0.5})
    both = Bags.concatenate([Bags.for_source([0, 1, 1]), bags])
    report = privacy_report(both)
    assert report.n_rows == 2
    assert not report.determined.any()


def test_contradiction_names_bags_and_releases():
    first = Bags.from_arrays(["a", "a", "b", "b"], counts={"a": 0, "b": 2})
    second = Bags.from_arrays(["x", "y", "x", "x"], counts={"x": 0, "y": 1})
    with pytest.raises(
        BagError, match=r"contradict each other, around .*'a'.*of polls.*'y'"
    ) as error:
        privacy_report({"polls": first, "wards": second})
    assert "noise=" in str(error.value)
    # Of three rows, one in each pair: no sum of whole numbers is half of three.
    out = Bags.NO_BAG
    pairs = (["a", "a", out], [out, "a", "a"], ["a", out, "a"])
    with pytest.raises(BagError, match="contradict"):
        privacy_report([Bags.from_arrays(ids, counts={"a": 1}) for ids in pairs])


@pytest.mark.parametrize("seed", range(5))
def test_contradictions_are_found(seed):
    """Two releases, one count of which is off by one, have different sums of all counts."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, 40)
    one, two = (random.permutation(40) // 5 for _ in range(2))
    counts = {f"bag {g}": int(labels[two == g].sum()) for g in range(8)}
    counts["bag 3"] += 1 if counts["bag 3"] < 5 else -1
    wrong = Bags.from_arrays([f"bag {g}" for g in two], counts=counts)
    with pytest.raises(BagError, match="contradict"):
        privacy_report([release(one, labels), wrong])


def test_what_is_refused():
    bags = Bags.from_arrays(["a", "a"], {"a": 0.5})
    with pytest.raises(BagError, match=r"same rows.*2 rows in release 1, 1 row in release 2"):
        privacy_report([bags, Bags.from_arrays(["a"], {"a": 1.0})])
    with pytest.raises(TypeError, match="must be a Bags, got dict"):
        privacy_report([{"a": 0.5}])
    with pytest.raises(TypeError, match="must be a Bags, got int"):
        privacy_report(3)
    with pytest.raises(ValueError, match="epsilon"):
        privacy_report(bags, epsilon=0)
    with pytest.raises(ValueError, match="n_classes"):
        privacy_report(bags, n_classes=1)
    with pytest.raises(BagError, match="no bag"):
        privacy_report(Bags.unlabelled(3))
    with pytest.raises(BagError, match="cut"):
        privacy_report(bags[:1])


def test_words():
    labels = np.array([1, 1, 0, 1, 0, 0, 1, 0])
    report = privacy_report(
        {"wards": release([0, 0, 1, 1, 2, 2, 3, 4], labels), "ages": release([0, 1] * 4, labels)},
        epsilon=1.0,
    )
    text = str(report)
    assert "Bags 'bag 0', 'bag 2' of wards are pure" in text
    assert "Bags 'bag 3', 'bag 4' of wards have one row only" in text
    assert "Aggregation alone is not differential privacy" in text
    assert "epsilon 2 in all: releases add up" in text
    assert max(map(len, text.splitlines())) <= 96
    table = report.bag_table()
    assert len(table["bag"]) == 7
    assert table["is_pure"].sum() == 4
    assert set(table["release"]) == {"wards", "ages"}


def test_ids_are_shown_as_text():
    bad = "<script>alert(1)</script>"
    report = privacy_report(Bags.from_arrays([bad, bad, "\x1b[31m"], {bad: 1.0, "\x1b[31m": 0.0}))
    assert bad in str(report)
    assert "\x1b" not in str(report)
    assert "<script>" not in report._repr_html_()


def test_function_is_not_hidden_by_its_module():
    import importlib

    module = importlib.import_module("bagshift.inspection.privacy_report")
    from bagshift import inspection

    assert inspection.privacy_report is module.privacy_report
