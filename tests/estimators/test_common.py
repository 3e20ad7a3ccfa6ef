# SPDX-License-Identifier: BSD-3-Clause
"""Two batteries over every estimator: scikit-learn's, and what bags and a source add to it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from bagshift import (
    DAKSVM,
    DASVM,
    LMPROJ,
    LSTGPLM,
    LWE,
    TGPLM,
    TGPLMCV,
    TSVM,
    AlternatingMeanMap,
    BagCSI,
    BagEM,
    Bags,
    CountLikelihoodClassifier,
    CountLikelihoodCV,
    EasyLLP,
    InverseCalibrationSVM,
    LaplacianMeanMap,
    LLPKMeans,
    MeanMap,
    OneVsRestBagClassifier,
    PriorShift,
    ProportionMatching,
    ProportionSVM,
    SourceSVM,
    TGPLMPlus,
    TrSVM,
    TrueLabelSVM,
    get_bag_tags,
)
from bagshift.estimators._logistic_machine import LogisticMachine
from bagshift.model_selection import count_log_likelihood
from bagshift.persistence import load_model, save_model
from problems import machine_name, machines, two_domains, with_settings

# Machines scored by the likelihood of counts rather than by shares.
BY_COUNTS = LogisticMachine | CountLikelihoodCV
WITHOUT_PROBABILITIES = (
    SourceSVM | TSVM | DASVM | LLPKMeans | TGPLMPlus | LMPROJ | DAKSVM | ProportionSVM | TrSVM
)
CASES = machines()
EXACT = machines(tol=1e-9)
ITERATIVE = [case for case in CASES if hasattr(case[0], "max_iter")]
EVERY_KERNEL = [
    pytest.param(
        (with_settings(clone(machine), {"kernel": kernel}), takes),
        id=machine_name((machine, takes)) + f"-{kernel}" * bool(kernel),
    )
    for machine, takes in EXACT
    for kernel in (("linear", "rbf", "poly") if hasattr(machine, "kernel") else ("",))
]


def known_failures(estimator):
    """Name the checks that do not suit an estimator, and why."""
    if isinstance(estimator, LWE):
        why = "weights go to the models; rows of folds and neighbourhoods count one by one"
        equal = "check_sample_weight_equivalence_on"
        return {f"{equal}_dense_data": why, f"{equal}_sparse_data": why}
    if isinstance(estimator, LLPKMeans):
        why = "weights go to the labels of clusters; k-means sees rows"
        equal = "check_sample_weight_equivalence_on"
        return {f"{equal}_dense_data": why, f"{equal}_sparse_data": why}
    if getattr(estimator, "kernel", None) != "precomputed":
        return {}
    return {"check_decision_proba_consistency": "gives two columns for eighty rows"}


@parametrize_with_checks(
    [
        TGPLM(),
        TGPLMCV(),
        CountLikelihoodCV(),
        TGPLMPlus(),
        InverseCalibrationSVM(),
        LSTGPLM(),
        LSTGPLM(kernel="linear"),
        LWE(),
        ProportionSVM(),
        BagEM(),
        OneVsRestBagClassifier(),
        BagEM(labels="posterior"),
        LLPKMeans(n_init=1),
        TSVM(),
        DASVM(),
        SourceSVM(),
        TrueLabelSVM(),
        PriorShift(),
        TrSVM(),
        LMPROJ(),
        DAKSVM(),
        MeanMap(),
        MeanMap(kernel="linear"),
        LaplacianMeanMap(),
        AlternatingMeanMap(),
        ProportionMatching(),
        ProportionMatching(kernel="linear"),
        EasyLLP(),
        EasyLLP(correction="clip"),
        BagCSI(),
        CountLikelihoodClassifier(),
        CountLikelihoodClassifier(kernel="linear"),
        CountLikelihoodClassifier(kernel="precomputed"),
    ],
    expected_failed_checks=known_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def fitted(case, X, bags, source):
    machine, with_source = case
    return clone(machine).fit(X, bags, source=source if with_source else None)


@pytest.mark.parametrize("case", EXACT, ids=machine_name)
def test_row_order_does_not_matter(case):
    X, bags, _, (X_source, y_source) = two_domains()
    rng = np.random.default_rng(1)
    rows, history = rng.permutation(len(X)), rng.permutation(len(y_source))
    one = fitted(case, X, bags, (X_source, y_source))
    two = fitted(case, X[rows], bags[rows], (X_source[history], y_source[history]))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("case", EXACT, ids=machine_name)
def test_feature_order_does_not_matter(case):
    X, bags, _, (X_source, y_source) = two_domains()
    one = fitted(case, X, bags, (X_source, y_source))
    two = fitted(case, X[:, ::-1], bags, (X_source[:, ::-1], y_source))
    np.testing.assert_allclose(
        one.decision_function(X), two.decision_function(X[:, ::-1]), atol=1e-7
    )


@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_names_of_bags_do_not_matter(case):
    X, bags, _, source = two_domains()
    names = [("bag", chr(200 - k)) for k in range(bags.n_bags)]
    renamed = Bags.from_arrays(
        [names[k] for k in bags.bag_index], dict(zip(names, bags.positive_shares, strict=True))
    )
    one, two = fitted(case, X, bags, source), fitted(case, X, renamed, source)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("case", EVERY_KERNEL)
def test_sparse_rows_equal_dense_rows(case):
    X, bags, _, (X_source, y_source) = two_domains()
    X, X_source = np.where(X > 0, X, 0), np.where(X_source > 0, X_source, 0)
    if isinstance(case[0], LWE):
        # Its own models are not the same on sparse rows: naive Bayes is multinomial there.
        models = [("logistic", LogisticRegression()), ("neighbours", KNeighborsClassifier())]
        case = clone(case[0]).set_params(models=models), case[1]
    one = fitted(case, X, bags, (X_source, y_source))
    two = fitted(case, sparse.csr_matrix(X), bags, (sparse.csr_array(X_source), y_source))
    expected = one.decision_function(X)
    np.testing.assert_allclose(two.decision_function(sparse.csr_matrix(X)), expected, atol=1e-7)


@pytest.mark.parametrize("case", EVERY_KERNEL)
def test_single_precision_rows_stay_single_and_agree(case):
    X, bags, _, (X_source, y_source) = two_domains()
    case = with_settings(clone(case[0]), {"tol": 1e-5}), case[1]
    one = fitted(case, X, bags, (X_source, y_source))
    two = fitted(case, X.astype(np.float32), bags, (X_source.astype(np.float32), y_source))
    if hasattr(two, "support_vectors_"):
        assert two.support_vectors_.dtype == np.float32
    scores = two.decision_function(X.astype(np.float32))
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, one.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, columns)])
@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_frames_equal_arrays(case, frame):
    X, bags, _, (X_source, y_source) = two_domains()
    names = ["age", "income", "distance"]
    one = fitted(case, X, bags, (X_source, y_source))
    two = fitted(case, frame(X, columns=names), bags, (frame(X_source, columns=names), y_source))
    assert list(two.feature_names_in_) == names
    scores = two.decision_function(frame(X, columns=names))
    np.testing.assert_allclose(scores, one.decision_function(X), atol=1e-11)
    with pytest.raises(ValueError, match="feature names"):
        two.predict(frame(X[:, ::-1], columns=names[::-1]))


@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_pickle_and_skops_keep_the_scores(case, tmp_path):
    X, bags, _, source = two_domains()
    machine = fitted(case, X, bags, source)
    path = tmp_path / "model.skops"
    save_model(machine, path)
    for copy in (pickle.loads(pickle.dumps(machine)), load_model(path).model):
        np.testing.assert_array_equal(copy.decision_function(X), machine.decision_function(X))
        np.testing.assert_array_equal(copy.predict(X), machine.predict(X))


@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_nothing_given_is_changed(case):
    X, bags, _, (X_source, y_source) = two_domains()
    given = [X.copy(), X_source.copy(), y_source.copy(), pickle.dumps(bags)]
    fitted(case, X, bags, (X_source, y_source)).score(X, bags)
    for array, before in zip((X, X_source, y_source), given, strict=False):
        np.testing.assert_array_equal(array, before)
    assert pickle.dumps(bags) == given[3]


# Five bags without a source need not tell which class is which, and the machine may say so; and
# their overall share is not that of the source, which TSVM says.
@pytest.mark.filterwarnings("ignore::bagshift.ReversedScoresWarning")
@pytest.mark.filterwarnings("ignore:TSVM gives the target the share:bagshift.BagWarning")
@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_fitting_twice_gives_the_same(case):
    X, bags, _, source = two_domains()
    one, two = fitted(case, X, bags, source), fitted(case, X, bags, source)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    refitted = two.fit(X[:30], bags[:30], source=source if case[1] else None)
    again = clone(two).fit(X[:30], bags[:30], source=source if case[1] else None)
    assert vars(refitted).keys() == vars(again).keys()


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [False, True], ["no", "yes"]])
@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_outputs_agree_with_each_other(case, labels):
    X, bags, _, (X_source, y_source) = two_domains()
    bags = Bags.from_arrays(
        bags.bag_index,
        dict(enumerate(bags.positive_shares)),
        positive=labels[1],
        negative=labels[0],
    )
    machine = fitted(case, X, bags, (X_source, np.array(labels)[y_source]))
    np.testing.assert_array_equal(machine.classes_, labels)
    assert machine.positive_class_ == labels[1]
    scores, predicted = machine.decision_function(X), machine.predict(X)
    assert scores.shape == (len(X),)
    assert set(predicted) <= set(labels)
    np.testing.assert_array_equal(predicted, np.array(labels)[(scores > 0).astype(int)])
    if hasattr(machine, "predict_proba"):
        probability = machine.predict_proba(X)
        assert probability.shape == (len(X), 2)
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        np.testing.assert_array_equal(machine.classes_[probability.argmax(axis=1)], predicted)
        in_bags = machine.predict_proba_in_bags(X, bags)
        np.testing.assert_allclose(in_bags.sum(axis=1), 1)
        np.testing.assert_allclose(bags.bag_means(in_bags), bags.shares, atol=1e-9)
        likelier = machine.classes_[in_bags.argmax(axis=1)]
        np.testing.assert_array_equal(machine.predict_in_bags(X, bags), likelier)
    else:
        assert not hasattr(machine, "predict_proba_in_bags")
        assert isinstance(machine, WITHOUT_PROBABILITIES)


@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_single_rows_and_single_bags_can_be_predicted(case):
    X, bags, _, source = two_domains()
    machine = fitted(case, X, bags, source)
    all_scores = machine.decision_function(X)
    np.testing.assert_allclose(machine.decision_function(X[:1]), all_scores[:1], atol=1e-12)
    score = machine.score(X[:6], bags[:6])
    if isinstance(machine, BY_COUNTS):
        assert score == count_log_likelihood(machine, X[:6], bags[:6]) < 0
    else:
        assert 0 <= score <= 1


@pytest.mark.parametrize("case", ITERATIVE, ids=machine_name)
def test_too_few_iterations_are_said(case):
    X, bags, _, source = two_domains()
    machine, with_source = case
    says, what_is_left = "duality gap", "dual_gap_"
    if isinstance(machine, BY_COUNTS):
        says, what_is_left = "after 1 step with a gradient", "gradient_norm_"
    if isinstance(machine, BagEM):
        says, what_is_left = "had not settled after 1 round", "changes_"
    with pytest.warns(ConvergenceWarning, match=says):
        machine = fitted((clone(machine).set_params(max_iter=1), with_source), X, bags, source)
    assert not machine.converged_
    assert machine.n_iter_ == 1
    assert getattr(machine, what_is_left) > 0


@pytest.mark.parametrize("case", CASES, ids=machine_name)
def test_unfitted_machines_say_so(case):
    X, bags, _, _ = two_domains()
    machine = clone(case[0])
    with pytest.raises(NotFittedError):
        machine.predict(X)
    with pytest.raises(NotFittedError):
        machine.score(X, bags)


def test_tags_say_what_a_machine_uses():
    tags = get_bag_tags(TGPLM())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (True, False, True)
    assert get_bag_tags(TGPLMPlus()) == get_bag_tags(CountLikelihoodClassifier()) == tags
    tags = get_bag_tags(InverseCalibrationSVM())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (False, False, True)
    tags = get_bag_tags(SourceSVM())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (True, True, False)
    assert get_bag_tags(SourceSVM(threshold="prior")).uses_bags
