# SPDX-License-Identifier: BSD-3-Clause
"""Whether the history helped: on domains where it is known, and by hand."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ttest_rel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagshift import (
    LWE,
    TGPLM,
    BagError,
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    stack_domains,
)
from bagshift.datasets import turned_directions
from bagshift.inspection import transfer_report
from bagshift.inspection._domain_distance import domain_distance
from bagshift.inspection._interval import Interval
from bagshift.inspection._transfer_path import at_best_temperature, vote_of
from bagshift.inspection.transfer_report import _verdict
from bagshift.model_selection import BagKFold, path_search
from bagshift.model_selection._count_engine import CountEngine
from bagshift.model_selection._path_engine import CoupledEngine

COUNTS = CountLikelihoodClassifier(kernel="linear", C_source=1.0, C_target=0.5, coupling=8.0)


def domains(angle, seed=0, n_bags=24, n_features=10):
    drawn = turned_directions(n_features, angle, seed, n_target=8 * n_bags)
    order = np.random.default_rng(seed).permutation(8 * n_bags)
    X, y = drawn.X_target[order], drawn.y_target[order]
    ids = np.repeat(np.arange(n_bags), 8)
    counts = np.bincount(ids, weights=y > 0).astype(int)
    bags = Bags.from_arrays(ids, counts=dict(enumerate(counts)), positive=1, negative=-1)
    return X, bags, (drawn.X_source, drawn.y_source)


@pytest.mark.parametrize("machine", [COUNTS, TGPLM(kernel="linear", coupling=64.0)])
def test_flipped_source_hurts(machine):
    report = transfer_report(machine, *domains(180))
    assert report.verdict == "hurts"
    assert report.vote.high < 0
    assert report.best_coupling < report.coupling
    assert report.distance.agreement < 0.3
    assert report.warnings[0].startswith("negative transfer")
    assert "classes lie elsewhere" in report.warnings[0]
    assert report.source_only.score < report.path[0].score


def test_same_domain_with_many_features_helps():
    report = transfer_report(COUNTS, *domains(0, n_features=50))
    assert report.verdict == "helps"
    assert not report.warnings
    assert report.source_only.score > report.target_only.score
    assert report.distance.agreement > 0.6
    assert "The history helps" in str(report)


def test_path_runs_from_none_to_pooled():
    report = transfer_report(COUNTS, *domains(45, n_bags=12))
    couplings = [point.coupling for point in report.path]
    assert couplings == sorted(couplings)
    assert couplings[0] == 0.0
    assert couplings[-1] == np.inf
    assert 8.0 in couplings
    assert report.path[0].vote.width == 0.0
    best = max(report.path, key=lambda point: point.score)
    assert report.best_coupling == best.coupling


def test_scores_are_those_of_the_search():
    X, bags, source = domains(45, n_bags=12)
    machine = TGPLM(kernel="linear", coupling=1.0)
    report = transfer_report(machine, X, bags, source, couplings=(0.0, 8.0), cv=BagKFold(4))
    grid = {"coupling": [0.0, 1.0, 8.0]}
    found = path_search(machine, X, bags, source=source, grid=grid, cv=BagKFold(4))
    scores = [point.score for point in report.path]
    assert scores == pytest.approx([row["score"] for row in found.table], abs=1e-6)
    assert report.criterion == "1 - share error"


def test_one_start_is_taken_as_it_is():
    X, bags, source = domains(45, n_bags=12)
    machine = CountLikelihoodClassifier(1.0, 4.0, 8.0, kernel="linear", start="source")
    report = transfer_report(machine, X, bags, source, couplings=(), cv=BagKFold(4))
    grid = {"coupling": [0.0, 8.0]}
    found = path_search(machine, X, bags, source=source, grid=grid, cv=BagKFold(4))
    scores = [point.score for point in report.path]
    assert scores == pytest.approx([row["score"] for row in found.table], abs=1e-6)


def test_caution_alone_is_no_help():
    bold, cautious = np.array([[-4.0], [-1.0]]), np.array([[-2.0], [-1.5]])
    assert _verdict(Interval(0.5, 0.2, 0.8), Interval(-0.1, -0.4, 0.2)) == "no difference"
    assert _verdict(Interval(0.5, 0.2, 0.8), Interval(0.1, -0.4, 0.6)) == "helps"
    assert _verdict(Interval(-0.5, -0.8, -0.2), Interval(-0.1, -0.4, 0.2)) == "hurts"
    assert at_best_temperature(bold) == pytest.approx([-1.0])
    assert at_best_temperature(cautious) == pytest.approx([-1.5])


def test_votes_are_judged_by_paired_t():
    random = np.random.default_rng(0)
    one, other = random.normal(size=(2, 20))
    interval = vote_of(CoupledEngine(), one, other, 0.9)
    expected = ttest_rel(one, other).confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx(
        (max(-1, expected.low), min(1, expected.high))
    )
    votes = (np.exp(one) - np.exp(other)) / (np.exp(one) + np.exp(other))
    assert vote_of(CountEngine(), one, other, 0.9).estimate == pytest.approx(votes.mean())


def test_few_bags_that_agree_show_nothing():
    assert vote_of(CountEngine(), np.full(4, -1.0), np.full(4, -9.0), 0.9).low == -1.0
    assert vote_of(CountEngine(), np.full(5, -1.0), np.full(5, -9.0), 0.9).low > 0.9
    report = transfer_report(COUNTS, *domains(180, seed=4, n_bags=3))
    assert report.verdict == "no difference"
    assert "3 bags cannot show a difference" in report.warnings[0]


def test_bags_that_were_never_held_out_have_no_vote():
    one, other = np.array([np.nan, 1, 2, 3, 4, 5.0]), np.zeros(6)
    assert vote_of(CoupledEngine(), one, other, 0.9).estimate == pytest.approx(3.0)


# --- what must not matter, and what may be given ------------------------------------------------


def test_which_class_is_positive():
    X, bags, source = domains(180, n_bags=12)
    ids = bags.ids[bags.bag_index]
    others = Bags.from_arrays(
        ids, dict(enumerate(1 - bags.positive_shares)), positive=-1, negative=1
    )
    report, mirrored = (transfer_report(COUNTS, X, each, source) for each in (bags, others))
    assert mirrored.vote.estimate == pytest.approx(report.vote.estimate, abs=1e-3)
    assert mirrored.source_only.score == pytest.approx(report.source_only.score, abs=1e-6)
    assert mirrored.distance.agreement == pytest.approx(report.distance.agreement)


def test_search_is_judged_at_its_choice():
    X, bags, source = domains(0, n_bags=12)
    grid = {"coupling": [1.0, 8.0]}
    search = CountLikelihoodCV(grid, cv=3, kernel="linear")
    unfitted = transfer_report(search, X, bags, source, couplings=())
    fitted = search.fit(X, bags, source=source)
    assert transfer_report(fitted, X, bags, source, couplings=()) == unfitted
    assert unfitted.coupling == fitted.coupling_


def test_stacked_rows():
    X, bags, source = domains(45, n_bags=12)
    X_all, both = stack_domains(source=source, target=(X, bags))
    beside = transfer_report(COUNTS, X, bags, source, couplings=())
    stacked = transfer_report(COUNTS, X_all, both, couplings=())
    assert stacked.vote.estimate == pytest.approx(beside.vote.estimate, abs=1e-4)
    assert stacked.n_source == len(source[1])


def test_sparse_rows():
    X, bags, source = domains(45, n_bags=12)
    history = sparse.csr_matrix(source[0]), source[1]
    report = transfer_report(COUNTS, sparse.csr_matrix(X), bags, history, couplings=())
    assert 0.0 <= report.distance.proxy_a_distance <= 2.0


def test_distance():
    random = np.random.RandomState(0)
    X = random.normal(size=(300, 3))
    near = domain_distance(X[:150], X[150:], 1.0, random)
    far = domain_distance(X[:150], X[150:] + np.array([0, 9, 0]), 1.0, random)
    assert near.proxy_a_distance < 0.4
    assert far.proxy_a_distance > 1.9
    assert far.most_shifted == 1
    assert far.largest_shift == pytest.approx(9, abs=1)
    assert domain_distance(np.ones((5, 2)), np.ones((5, 2)), 1.0, random).most_shifted is None


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coupling": 0.0}, "name the coupling to judge"),
        ({"coupling": -1.0}, "coupling must be a number that is not negative"),
        ({"couplings": (-1.0,)}, "couplings must not be negative"),
        ({"level": 1.5}, "level must lie between 0 and 1"),
    ],
)
def test_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        transfer_report(COUNTS, *domains(0, n_bags=12), **options)


def test_no_source():
    X, bags, _ = domains(0, n_bags=12)
    with pytest.raises(ValueError, match="needs labelled history"):
        transfer_report(COUNTS, X, bags)


def test_machines_without_a_coupling():
    with pytest.raises(TypeError, match="LWE has no coupling to judge"):
        transfer_report(LWE(), *domains(0, n_bags=12))
    scaled = make_pipeline(StandardScaler(), COUNTS)
    X, bags, source = domains(0, n_bags=12)
    X_all, both = stack_domains(source=source, target=(X, bags))
    with pytest.raises(TypeError, match="Pipeline has no coupling to judge"):
        transfer_report(scaled, X_all, both)


def test_precomputed_kernel():
    X, bags, source = domains(0, n_bags=12)
    machine = TGPLM(kernel="precomputed", coupling=1.0)
    rows = np.concatenate([source[0], X])
    with pytest.raises(ValueError, match="needs their rows"):
        transfer_report(machine, X @ rows.T, bags, (source[0] @ rows.T, source[1]))


def test_one_bag():
    X, bags, source = domains(0, n_bags=12)
    with pytest.raises(BagError, match="needs at least 2"):
        transfer_report(COUNTS, X[:8], bags[:8], source)
