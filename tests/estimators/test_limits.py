# SPDX-License-Identifier: BSD-3-Clause
"""Limits of the coupled machine and equality with scikit-learn's machines."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from bagshift import TGPLM, Bags, InverseCalibrationSVM, SourceSVM, stack_domains
from bagshift.calibration import inverse_calibrate
from bagshift.model_selection import neg_soft_share_error
from problems import two_domains

KERNEL = {"kernel": "rbf", "gamma": 0.4, "tol": 1e-9}


def mean_matrix(bags):
    """Return the row-stochastic matrix that averages rows over bags."""
    A = (bags.bag_index[None, :] == np.arange(bags.n_bags)[:, None]).astype(float)
    return A / A.sum(axis=1, keepdims=True)


def test_no_coupling_gives_the_two_separate_machines():
    X, bags, _, source = two_domains()
    coupled = TGPLM(C_source=2.0, C_target=3.0, coupling=1e-7, **KERNEL).fit(
        X, bags, source=source
    )
    separate = TGPLM(C_source=2.0, C_target=3.0, coupling=0, **KERNEL).fit(X, bags, source=source)
    alone = InverseCalibrationSVM(C=3.0, **KERNEL).fit(X, bags)
    svc = SVC(C=2.0, gamma=0.4, tol=1e-9).fit(*source)
    for machine, tolerance in ((coupled, 1e-4), (separate, 1e-5)):
        np.testing.assert_allclose(
            machine.decision_function(X), alone.decision_function(X), atol=tolerance
        )
        np.testing.assert_allclose(
            machine.source_decision_function(X), svc.decision_function(X), atol=tolerance
        )


def test_strong_coupling_gives_the_pooled_machine():
    X, bags, _, source = two_domains()
    strong = TGPLM(coupling=1e6, **KERNEL).fit(X, bags, source=source)
    pooled = TGPLM(coupling=np.inf, **KERNEL).fit(X, bags, source=source)
    np.testing.assert_allclose(strong.decision_function(X), pooled.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(
        pooled.source_decision_function(X), pooled.decision_function(X), atol=1e-10
    )


def test_pooled_machine_of_labelled_rows_is_an_svc_at_half_the_kernel():
    X, _, labels, (X_source, y_source) = two_domains()
    labelled = Bags.unlabelled(len(X)).with_labels(labels)
    pooled = TGPLM(C_source=1.5, C_target=1.5, coupling=np.inf, **KERNEL)
    pooled.fit(X, labelled, source=(X_source, y_source))
    # The pooled problem has the penalty |w|^2 instead of |w|^2 / 2, so the kernel counts half.
    rows, y = np.vstack([X_source, X]), np.concatenate([y_source, labels])
    svc = SVC(C=1.5, kernel="precomputed", tol=1e-9).fit(0.5 * rbf_kernel(rows, gamma=0.4), y)
    reference = svc.decision_function(0.5 * rbf_kernel(X, rows, gamma=0.4))
    np.testing.assert_allclose(pooled.decision_function(X), reference, atol=1e-4)


def test_without_target_cost_the_target_follows_the_source():
    X, bags, _, source = two_domains()
    machine = TGPLM(C_target=0.0, coupling=0.7, **KERNEL).fit(X, bags, source=source)
    shrunk = 0.7 / 1.7 * (machine.source_decision_function(X) - machine.source_intercept_[0])
    np.testing.assert_allclose(
        machine.decision_function(X) - machine.intercept_[0], shrunk, atol=1e-8
    )
    np.testing.assert_allclose(machine.intercept_, machine.source_intercept_, atol=1e-8)


def test_without_source_cost_the_kernel_is_scaled():
    X, bags, _, source = two_domains()
    coupling = 0.7
    machine = TGPLM(C_source=0.0, C_target=3.0, coupling=coupling, **KERNEL)
    machine.fit(X, bags, source=source)
    within = (1 + coupling) / (1 + 2 * coupling)
    scaled = InverseCalibrationSVM(
        C=3.0, kernel=lambda A, B: within * rbf_kernel(A, B, gamma=0.4), tol=1e-9
    ).fit(X, bags)
    np.testing.assert_allclose(
        machine.decision_function(X), scaled.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("coupling", [0.0, 0.125, 8.0, np.inf])
def test_swapping_the_classes_turns_the_scores(coupling):
    X, bags, _, (X_source, y_source) = two_domains()
    swapped = Bags.from_arrays(
        bags.ids[bags.bag_index],
        {bag: 1 - share for bag, share in zip(bags.ids, bags.positive_shares, strict=True)},
    )
    settings = {"coupling": coupling, **KERNEL}
    one = TGPLM(**settings).fit(X, bags, source=(X_source, y_source))
    other = TGPLM(**settings).fit(X, swapped, source=(X_source, 1 - y_source))
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("C", [2**-8, 1.0, 64.0])
def test_constant_tube_is_support_vector_regression(C):
    X, bags, _, _ = two_domains(bag_size=5)
    A = mean_matrix(bags)
    K = rbf_kernel(X, gamma=0.4)
    wanted = inverse_calibrate(
        bags.positive_shares, clip=0.02, tube="constant", epsilon=0.1, sizes=bags.sizes, n_rows=60
    )
    svr = SVR(kernel="precomputed", C=C, epsilon=0.1, tol=1e-9).fit(A @ K @ A.T, wanted.centres)
    for machine in (
        InverseCalibrationSVM(C=C, tube="constant", epsilon=0.1, clip=0.02, **KERNEL),
        TGPLM(C_target=C, tube="constant", epsilon=0.1, clip=0.02, coupling=5.0, **KERNEL),
    ):
        machine.fit(X, bags)
        np.testing.assert_allclose(machine.decision_function(X), svr.predict(K @ A.T), atol=1e-4)


@pytest.mark.parametrize("C", [2**-8, 1.0, 16.0])
@pytest.mark.parametrize(
    "kernel", [{"kernel": "linear"}, {"gamma": 0.4}, {"gamma": "scale"}, {"kernel": "poly"}]
)
def test_plain_labels_are_an_svc(C, kernel):
    X, _, labels, _ = two_domains()
    svc = SVC(C=C, tol=1e-9, **kernel).fit(X, labels)
    for machine in (
        TGPLM(C_target=C, tol=1e-9, **kernel),
        InverseCalibrationSVM(C=C, tol=1e-9, **kernel),
        SourceSVM(C=C, tol=1e-9, **kernel),
    ):
        machine.fit(X, labels)
        np.testing.assert_allclose(
            machine.decision_function(X), svc.decision_function(X), atol=1e-4
        )


def test_source_svm_is_an_svc_on_the_source():
    X, bags, _, source = two_domains()
    svc = SVC(tol=1e-9).fit(*source)
    for target in (bags, None):
        machine = SourceSVM(tol=1e-9).fit(X, target, source=source)
        np.testing.assert_allclose(
            machine.decision_function(X), svc.decision_function(X), atol=1e-4
        )


def test_prior_threshold_labels_as_many_rows_as_the_shares_say():
    X, bags, labels, source = two_domains()
    machine = SourceSVM(threshold="prior").fit(X, bags, source=source)
    assert machine.predict(X).sum() == labels.sum()


def test_duplicated_bags_at_half_the_cost_give_the_same_machine():
    X, bags, _, _ = two_domains()
    ids = bags.bag_index
    twice = Bags.from_arrays(
        np.concatenate([ids, ids + bags.n_bags]), dict(enumerate(np.tile(bags.positive_shares, 2)))
    )
    settings = {"clip": 0.02, **KERNEL}
    one = InverseCalibrationSVM(C=2.0, **settings).fit(X, bags)
    two = InverseCalibrationSVM(C=1.0, **settings).fit(np.vstack([X, X]), twice)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)


def test_bags_of_one_regress_on_the_clipped_logits():
    X, _, labels, _ = two_domains()
    bags = Bags.from_arrays(np.arange(len(X)), labels.astype(float))
    clip = 0.05
    logit = np.log((1 - clip) / clip)
    machine = InverseCalibrationSVM(C=1.0, clip=clip, tube="constant", epsilon=0.1, **KERNEL)
    with pytest.warns(UserWarning, match="pure"):
        machine.fit(X, bags)
    svr = SVR(C=1.0, epsilon=0.1, gamma=0.4, tol=1e-9).fit(X, np.where(labels == 1, logit, -logit))
    np.testing.assert_allclose(machine.decision_function(X), svr.predict(X), atol=1e-4)


def test_stacked_rows_equal_a_separate_source():
    X, bags, _, (X_source, y_source) = two_domains()
    weight = np.linspace(0.5, 2.0, len(y_source))
    one = TGPLM(**KERNEL).fit(X, bags, source=(X_source, y_source, weight))
    Xa, ya = stack_domains(source=(X_source, y_source, weight), target=(X, bags))
    two = TGPLM(**KERNEL).fit(Xa, ya)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_precomputed_kernel_equals_the_kernel_itself():
    X, bags, _, (X_source, y_source) = two_domains()
    Xa, ya = stack_domains(source=(X_source, y_source), target=(X, bags))
    K = rbf_kernel(Xa, gamma=0.4)
    n = len(y_source)
    direct = TGPLM(**KERNEL).fit(Xa, ya)
    settings = {"kernel": "precomputed", "tol": 1e-9}
    stacked = TGPLM(**settings).fit(K, ya)
    beside = TGPLM(**settings).fit(K[n:], bags, source=(K[:n], y_source))
    shuffled = np.random.default_rng(0).permutation(len(K))
    mixed = TGPLM(**settings).fit(K[np.ix_(shuffled, shuffled)], ya[shuffled])
    wanted = direct.decision_function(X)
    for machine, kernel_rows in (
        (stacked, K[n:]),
        (beside, K[n:]),
        (mixed, K[n:][:, shuffled]),
    ):
        np.testing.assert_allclose(machine.decision_function(kernel_rows), wanted, atol=1e-6)
    for threshold in (None, "prior"):
        one = SourceSVM(gamma=0.4, threshold=threshold).fit(Xa, ya)
        two = SourceSVM(kernel="precomputed", threshold=threshold).fit(
            K[np.ix_(shuffled, shuffled)], ya[shuffled]
        )
        np.testing.assert_allclose(
            one.decision_function(X), two.decision_function(K[n:][:, shuffled]), atol=1e-6
        )


def test_sizes_and_weights_of_bags_are_costs():
    X, bags, _, source = two_domains()
    ids = bags.bag_index
    shares = dict(enumerate(bags.positive_shares))
    big = {k: 6.0 * (1 + k % 3) for k in range(12)}
    mean = np.mean(list(big.values()))
    by_size = Bags.from_arrays(ids, shares, sizes=big)
    by_weight = Bags.from_arrays(ids, shares, weights={k: v / mean for k, v in big.items()})
    one = TGPLM(bag_weight="size", **KERNEL).fit(X, by_size, source=source)
    two = TGPLM(**KERNEL).fit(X, by_weight, source=source)
    three = TGPLM(**KERNEL).fit(X, bags, source=source)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-8)
    assert np.abs(one.decision_function(X) - three.decision_function(X)).max() > 1e-3


def test_rows_in_no_bag_change_nothing_with_a_fixed_width():
    X, bags, _, source = two_domains()
    more = Bags.concatenate([bags, Bags.unlabelled(5)])
    settings = {"clip": 0.02, **KERNEL}
    one = TGPLM(**settings).fit(X, bags, source=source)
    two = TGPLM(**settings).fit(np.vstack([X, X[:5] + 1]), more, source=source)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-10)


def test_labelled_target_rows_pull_the_scores():
    X, bags, _, source = two_domains()
    Z = np.full((1, X.shape[1]), 4.0)
    known = Bags.concatenate([bags, Bags.unlabelled(1).with_labels([0])])
    free = TGPLM(**KERNEL).fit(X, bags, source=source)
    told = TGPLM(C_target=50.0, **KERNEL).fit(np.vstack([X, Z]), known, source=source)
    assert told.decision_function(Z)[0] < free.decision_function(Z)[0]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_prior_threshold_is_clear_of_the_last_row(share):
    for seed in range(30):
        X, bags, _, source = two_domains(seed)
        X = np.round(X) if seed % 2 else np.ones_like(X)
        whole = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), share))
        machine = SourceSVM(threshold="prior")
        with pytest.warns(UserWarning, match="same share"):
            machine.fit(X, whole, source=source)
        assert machine.predict(X).mean() == share


def test_scores_of_a_scaled_machine_are_judged_as_log_odds():
    X, bags, _, source = two_domains()
    machine = TGPLM(C_source=0.0, C_target=1e4, coupling=0.0, tube="constant", epsilon=1e-3)
    plain = clone(machine).fit(X, bags, source=source)
    scaled = clone(machine).set_params(score_scale=4.0).fit(X, bags, source=source)
    assert neg_soft_share_error(plain, X, bags) > -0.02
    assert neg_soft_share_error(scaled, X, bags) > -0.02
