# SPDX-License-Identifier: BSD-3-Clause
"""LWE: counts against graphs written out, what several models become, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagshift import LWE, Bags, ModelFileError, SourceSVM, get_bag_tags, stack_domains
from bagshift.estimators._calibrated_svm import CalibratedSVM
from bagshift.estimators._clusters import cluster_centers, nearest, squared_distances
from bagshift.estimators._neighbourhoods import consistency, purity
from bagshift.persistence import load_model, save_model
from problems import two_domains

LOGISTIC = [("logistic", LogisticRegression())]


class Fixed(ClassifierMixin, BaseEstimator):
    """A model that is sure of the class that one column says."""

    def __init__(self, column=0, sureness=0.9):
        self.column = column
        self.sureness = sureness

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        second = np.where(X[:, self.column] > 0, self.sureness, 1 - self.sureness)
        return np.column_stack([1 - second, second])


def two_clusters(n_rows=60, seed=0):
    """Rows in two clusters along column 0, which are the classes; column 1 is noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = np.column_stack([6.0 * (y - 0.5), np.zeros(n_rows)]) + rng.normal(size=(n_rows, 2))
    return X, y


def similarity_by_graphs(cluster, labels, neighbourhood):
    """s_i(x) of every row, from graphs of all pairs of rows."""
    n = len(cluster)
    apart = ~np.eye(n, dtype=bool)
    of_target = (cluster[:, None] == cluster) & apart
    found = np.zeros(labels.shape)
    for i, of_model in enumerate(labels):
        same = (of_model[:, None] == of_model) & apart
        for x in range(n):
            both = sum(of_target[x, j] and same[x, j] for j in range(n))
            size = of_target[x].sum()
            below = size if neighbourhood == "cluster" else (size + same[x].sum()) / 2
            found[i, x] = both / below if below else 0.0
    return found


@given(
    st.integers(1, 4),
    st.integers(1, 25),
    st.integers(1, 3),
    st.sampled_from(["global", "cluster"]),
)
def test_counts_equal_graphs(n_clusters, n_rows, n_models, neighbourhood):
    rng = np.random.default_rng([n_clusters, n_rows, n_models])
    cluster = rng.integers(n_clusters, size=n_rows)
    labels = rng.integers(2, size=(n_models, n_rows))
    table = consistency(cluster, labels, n_clusters, neighbourhood)
    found = table[np.arange(n_models)[:, None], cluster[None, :], labels]
    expected = similarity_by_graphs(cluster, labels, neighbourhood)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.all((table >= 0) & (table <= 1))


@pytest.mark.parametrize("neighbourhood", ["global", "cluster"])
@pytest.mark.parametrize("delta", [0.0, 0.6, 1.0])
def test_probabilities_equal_the_formula_written_out(neighbourhood, delta):
    """Every step on graphs of all pairs, from the fitted models and the clusters."""
    X, bags, _, source = two_domains(gap=1.0)
    machine = LWE(n_clusters=3, neighbourhood=neighbourhood, delta=delta)
    machine.fit(X, bags, source=source)
    opinions = np.array([model.predict_proba(X) for model in machine.models_.values()])
    cluster = nearest(X, machine.cluster_centers_)
    agreement = similarity_by_graphs(cluster, (opinions[:, :, 1] > 0.5).astype(int), neighbourhood)
    expected = np.empty((len(X), 2))
    decided = agreement.mean(axis=0) >= delta
    for j in range(len(X)):
        total = agreement[:, j].sum()
        weights = agreement[:, j] / total if total else np.full(len(opinions), 1 / len(opinions))
        expected[j] = weights @ opinions[:, j]
    if delta == 0.6:
        assert 0 < decided.sum() < len(X)
    for j in np.flatnonzero(~decided):
        around = decided & (cluster == cluster[j])
        expected[j] = (
            expected[around].mean(axis=0) if around.any() else opinions[:, j].mean(axis=0)
        )
    np.testing.assert_allclose(machine.predict_proba(X), expected, atol=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.5, 0.95])
def test_labels_of_the_target_are_those_that_predict_gives(delta):
    X, bags, _, source = two_domains(gap=1.0)
    machine = LWE(n_clusters=5, delta=delta).fit(X, bags, source=source)
    np.testing.assert_array_equal(machine.predict(X), machine.transduction_)
    np.testing.assert_array_equal(
        [machine.predict(X[j : j + 1])[0] for j in range(10)], machine.transduction_[:10]
    )


def test_single_model_is_that_model():
    X, bags, _, source = two_domains()
    machine = LWE(LOGISTIC, delta=0.0).fit(X, bags, source=source)
    alone = LogisticRegression().fit(*source)
    np.testing.assert_allclose(machine.predict_proba(X), alone.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(machine.decision_function(X), alone.decision_function(X), atol=1e-9)


def test_equal_models_are_that_model():
    X, bags, _, source = two_domains()
    models = [(name, GaussianNB()) for name in "abc"]
    machine = LWE(models, delta=0.0, n_clusters=4).fit(X, bags, source=source)
    alone = GaussianNB().fit(*source)
    np.testing.assert_allclose(machine.predict_proba(X), alone.predict_proba(X), atol=1e-12)


def test_weight_goes_to_the_model_that_follows_the_clusters():
    X, y = two_clusters()
    models = [("right", Fixed(0)), ("noise", Fixed(1, 0.99))]
    machine = LWE(models, delta=0.0).fit(X, None, source=(X, y))
    right, noise = machine.consistency_
    assert right.max(axis=1).min() == 1.0
    assert noise.max() < 0.65
    # The noisy model is surer, and a plain mean follows it.
    plain = np.mean([model.predict_proba(X) for model in machine.models_.values()], axis=0)
    assert np.mean(plain.argmax(axis=1) == y) < 0.65
    assert machine.score(X, y) == 1.0


def test_undecided_rows_follow_their_cluster():
    X, y = two_clusters()
    wrong = np.flatnonzero(y == 1)[:3]
    model = LogisticRegression()
    source = X.copy()
    target = X.copy()
    target[wrong, 1] = 40.0  # the model is led astray there, the cluster is not left
    source = np.vstack([X, [[3.0, 60.0]] * 5])
    labels = np.concatenate([y, np.zeros(5, dtype=int)])
    always = {"models": [("logistic", model)], "purity_limit": 0.5}
    follows = LWE(delta=0.0, **always).fit(X, None, source=(source, labels))
    assert follows.is_weighted_
    rows = np.array([[3.0, 60.0]])
    assert follows.predict(rows) == 0
    around = LWE(delta=0.5, **always).fit(X, None, source=(source, labels))
    assert around.predict(rows) == 1
    np.testing.assert_allclose(
        around.predict_proba(rows),
        around.cluster_probability_[nearest(rows, around.cluster_centers_)],
    )


def test_impure_source_gives_equal_weights():
    X, bags, _, source = two_domains(gap=1.0)
    machine = LWE(purity_limit=1.0).fit(X, bags, source=source)
    assert not machine.is_weighted_
    assert 0.5 <= machine.purity_ < 1
    plain = np.mean([model.predict_proba(X) for model in machine.models_.values()], axis=0)
    np.testing.assert_allclose(machine.predict_proba(X), plain, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_clusters_that_mix_the_classes_are_not_believed(seed):
    """The default limit on purity: weights from such clusters did far worse than equal ones."""
    X, y = make_classification(
        1200, n_features=10, n_informative=5, flip_y=0.02, random_state=seed
    )
    X, y = X[:600], y[:600]
    machine = LWE().fit(X[200:], None, source=(X[:200], y[:200]))
    assert machine.purity_ < 0.75
    assert not machine.is_weighted_
    always = LWE(purity_limit=0.5).fit(X[200:], None, source=(X[:200], y[:200]))
    assert machine.score(X[200:], y[200:]) > always.score(X[200:], y[200:]) + 0.1


def test_pure_clusters_are_believed():
    X, y = two_clusters()
    machine = LWE().fit(X, None, source=(X, y))
    assert machine.purity_ > 0.95
    assert machine.is_weighted_


@given(st.integers(1, 4), st.integers(1, 30))
def test_purity_counts_the_larger_label(n_clusters, n_rows):
    rng = np.random.default_rng([n_clusters, n_rows])
    cluster, labels = rng.integers(n_clusters, size=n_rows), rng.random(n_rows) < 0.5
    expected = sum(
        max(np.sum(labels[cluster == c]), np.sum(~labels[cluster == c])) for c in range(n_clusters)
    )
    assert purity(cluster, labels) == pytest.approx(expected / n_rows)


def test_models_that_come_without_a_list():
    X, _, _, (X_source, y_source) = two_domains()
    dense = LWE().fit(X, None, source=(X_source, y_source)).models_
    assert [type(model) for model in dense.values()] == [
        LogisticRegression,
        CalibratedSVM,
        CalibratedSVM,
        GaussianNB,
    ]
    rows, history = (sparse.csr_array(np.abs(part)) for part in (X, X_source))
    counts = LWE().fit(rows, None, source=(history, y_source)).models_
    assert isinstance(counts["naive Bayes"], MultinomialNB)
    signed = LWE().fit(sparse.csr_array(X), None, source=(history, y_source)).models_
    assert "naive Bayes" not in signed


def test_model_of_sparse_rows_can_be_saved(tmp_path):
    X, _, _, (X_source, y_source) = two_domains()
    rows, history = (sparse.csr_array(np.abs(part)) for part in (X, X_source))
    machine = LWE().fit(rows, None, source=(history, y_source))
    save_model(machine, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").model
    np.testing.assert_array_equal(loaded.decision_function(rows), machine.decision_function(rows))


def test_model_file_with_models_that_do_not_fit_is_refused(tmp_path):
    X, bags, _, source = two_domains()
    machine = LWE(n_clusters=3).fit(X, bags, source=source)
    machine.models_["linear SVM"].coef_ = np.zeros((1, 7))
    with pytest.raises(ModelFileError, match="coef_ has shape"):
        save_model(machine, tmp_path / "model.skops")
    machine = LWE(n_clusters=3).fit(X, bags, source=source)
    machine.consistency_ = machine.consistency_[:, :2]
    with pytest.raises(ModelFileError, match="consistency_ has shape"):
        save_model(machine, tmp_path / "model.skops")
    machine = LWE().fit(X, bags, source=source)
    machine.models_["naive Bayes"] = GaussianNB().fit(X[:, :2], np.arange(len(X)) % 2)
    with pytest.raises(ModelFileError, match="GaussianNB in it takes other columns"):
        save_model(machine, tmp_path / "model.skops")


def test_directions_of_sparse_rows_are_clustered():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    length = rng.exponential(size=80) + 0.05
    X = length[:, None] * (np.eye(2)[y] + 0.1 * rng.random((80, 2)))
    rows = sparse.csr_array(X)
    machine = LWE(clustering="spherical").fit(rows, None, source=(rows, y))
    assert machine.purity_ == 1.0
    assert LWE().fit(rows, None, source=(rows, y)).purity_ < 1.0
    assert machine.score(rows, y) == 1.0
    # The scale of a row does not move it to another cluster.
    np.testing.assert_allclose(np.linalg.norm(machine.cluster_centers_, axis=1), 1.0, atol=0.02)


def test_standardised_columns_are_those_scaled_by_hand():
    X, bags, _, (X_source, y_source) = two_domains()
    unit = np.array([1.0, 1e4, 1e-3])
    scaler = StandardScaler().fit(np.vstack([X_source, X]))
    by_hand = LWE(standardize=False).fit(
        scaler.transform(X), bags, source=(scaler.transform(X_source), y_source)
    )
    machine = LWE(standardize="auto").fit(X * unit, bags, source=(X_source * unit, y_source))
    np.testing.assert_allclose(
        machine.decision_function(X * unit),
        by_hand.decision_function(scaler.transform(X)),
        atol=1e-6,
    )


def test_stacked_domains_and_weights_equal_rows_left_out():
    X, bags, _, (X_source, y_source) = two_domains()
    kept = np.arange(len(y_source)) >= 8
    weight = kept.astype(float)
    Xa, ya = stack_domains(source=(X_source, y_source, weight), target=(X, bags))
    one = LWE().fit(Xa, ya)
    two = LWE().fit(X, bags, source=(X_source[kept], y_source[kept]))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-9)


def test_weights_reach_the_models():
    X, _, _, (X_source, y_source) = two_domains()
    weight = np.linspace(0.5, 2.0, len(y_source))
    machine = LWE(LOGISTIC, delta=0.0).fit(X, None, source=(X_source, y_source, weight))
    alone = LogisticRegression().fit(X_source, y_source, sample_weight=weight)
    np.testing.assert_allclose(machine.predict_proba(X), alone.predict_proba(X), atol=1e-12)


def test_labelled_rows_stand_in_for_a_source():
    X, _, labels, _ = two_domains()
    known = np.where(np.arange(len(X)) < 30, labels, None)
    bags = Bags.unlabelled(len(X)).with_labels(known)
    one = LWE().fit(X, bags)
    two = LWE().fit(X, None, source=(X[:30], labels[:30]))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


# --- its pieces -----------------------------------------------------------------------------


def test_clusters_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    rows = rng.permutation(len(X))
    one, two = (cluster_centers(part, 6, n_init=1, random_state=0) for part in (X, X[rows]))
    np.testing.assert_allclose(one, two, atol=1e-9)


def test_clusters_are_no_more_than_different_rows():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    assert len(cluster_centers(X, 4, n_init=1, random_state=0)) == 2
    assert len(cluster_centers(X[:1], 4, n_init=1, random_state=0)) == 1


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_distances_are_exact_far_from_the_origin(offset):
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    expected = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
    found = squared_distances(X + offset, centers + offset)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    if not offset:
        by_sparse = squared_distances(sparse.csr_array(X), centers)
        np.testing.assert_allclose(by_sparse, expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_calibrated_machine_is_the_machine_with_a_sigmoid(kernel):
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 1.2 * y[:, None]
    svm = SourceSVM(kernel=kernel).fit(X, y)
    calibrated = CalibratedSVM(kernel=kernel).fit(X, y)
    raw, log_odds = svm.decision_function(X), calibrated.decision_function(X)
    slope, shift = np.polyfit(raw, log_odds, 1)
    np.testing.assert_allclose(log_odds, slope * raw + shift, atol=1e-8)
    assert slope > 0
    # Log odds of new rows: among those at about one probability, that share is positive.
    y_new = np.arange(4000) % 2
    X_new = rng.normal(size=(4000, 2)) + 1.2 * y_new[:, None]
    chance = calibrated.predict_proba(X_new)[:, 1]
    np.testing.assert_allclose(chance, expit(calibrated.decision_function(X_new)), atol=1e-12)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (chance >= low) & (chance < low + 0.2)
        assert abs(y_new[inside].mean() - chance[inside].mean()) < 0.08


def test_calibration_of_few_rows_keeps_the_sides():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    for rows, labels in ((X, y), (np.repeat(X, 2, axis=0), np.repeat(y, 2))):
        np.testing.assert_array_equal(
            CalibratedSVM(kernel="linear").fit(rows, labels).predict(X), y
        )
    flat = CalibratedSVM(kernel="linear").fit(np.ones((6, 2)), [0, 0, 0, 0, 1, 1])
    assert flat.predict_proba(np.ones((1, 2)))[0, 1] == pytest.approx(1 / 3, abs=0.1)


def test_tags():
    tags = get_bag_tags(LWE())
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (True, True, False)
    assert not tags.transductive


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ([], "pairs of a name and a classifier"),
        ([LogisticRegression()], "pairs of a name and a classifier"),
        ([("a", GaussianNB()), ("a", GaussianNB())], "different strings"),
        ([(1, GaussianNB())], "different strings"),
        ([("svm", SVC())], "'svm' has no predict_proba"),
        ([("nothing", None)], "'nothing' has no predict_proba"),
    ],
)
def test_models_that_cannot_be_used(models, says):
    X, bags, _, source = two_domains()
    with pytest.raises(ValueError, match=says):
        LWE(models).fit(X, bags, source=source)


def test_weights_that_a_model_cannot_use():
    X, bags, _, (X_source, y_source) = two_domains()
    weighted = X_source, y_source, np.linspace(1, 2, len(y_source))
    for model in (KNeighborsClassifier(), make_pipeline(StandardScaler(), GaussianNB())):
        with pytest.raises(ValueError, match="'it' takes no sample_weight"):
            LWE([("it", model)]).fit(X, bags, source=weighted)
        LWE([("it", model)]).fit(X, bags, source=(X_source, y_source))


def test_a_source_is_needed():
    X, bags, labels, source = two_domains()
    with pytest.raises(ValueError, match="needs labelled history of both classes"):
        LWE().fit(X, bags)
    known = np.where((np.arange(len(X)) < 30) & (labels == 1), labels, None)
    some = Bags.unlabelled(len(X)).with_labels(known)
    with pytest.raises(ValueError, match=r"both classes|hold one class"):
        LWE().fit(X, some)
    with pytest.raises(ValueError, match="put labelled target rows into source="):
        LWE().fit(X, some, source=source)


def test_more_clusters_than_rows_are_refused():
    X, bags, _, (X_source, y_source) = two_domains()
    with pytest.raises(ValueError, match="n_clusters=73 asks for more clusters than there are"):
        LWE(n_clusters=73).fit(X, bags, source=(np.vstack([X_source] * 2), np.tile(y_source, 2)))
    with pytest.raises(ValueError, match="than there are source rows, 40; set n_clusters"):
        LWE(n_clusters=41).fit(X, bags, source=(X_source, y_source))
    assert LWE().fit(X[:1], None, source=(X_source, y_source)).predict(X[:1]).shape == (1,)


def test_target_labels_of_one_class_are_refused():
    X, _, labels, _ = two_domains()
    known = Bags.unlabelled(len(X)).with_labels(np.where(labels == 1, labels, None))
    with pytest.raises(ValueError, match=r"both classes|hold one class"):
        LWE().fit(X, known)


@pytest.mark.parametrize("is_sparse", [(True, False), (False, True)])
def test_dense_and_sparse_domains_go_together(is_sparse):
    X, bags, _, (X_source, y_source) = two_domains()
    rows, history = (
        sparse.csr_array(part) if wanted else part
        for part, wanted in zip((X, X_source), is_sparse, strict=True)
    )
    machine = LWE().fit(rows, bags, source=(history, y_source))
    both = LWE().fit(sparse.csr_array(X), bags, source=(sparse.csr_array(X_source), y_source))
    np.testing.assert_array_equal(machine.decision_function(X), both.decision_function(X))


def test_sparse_rows_can_be_predicted_by_models_of_dense_ones():
    X, bags, _, source = two_domains()
    machine = LWE().fit(X, bags, source=source)
    np.testing.assert_array_equal(
        machine.decision_function(sparse.csr_array(X)), machine.decision_function(X)
    )


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_without_any_variance_have_no_naive_bayes():
    X, bags, _, (X_source, y_source) = two_domains()
    machine = LWE().fit(X, bags, source=(np.ones_like(X_source), y_source))
    assert "naive Bayes" not in machine.models_
    np.testing.assert_allclose(machine.decision_function(X), 0, atol=1e-9)


def test_model_without_finite_probabilities_is_named():
    X, bags, _, source = two_domains()
    with pytest.raises(ValueError, match="The model 'nothing' gives probabilities that are not"):
        LWE([("nothing", Fixed(sureness=np.nan))]).fit(X, bags, source=source)
