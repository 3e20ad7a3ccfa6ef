# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from bagshift.kernels import Kernel, resolve_kernel
from kernel_cases import DTYPES, FORMATS, N_FEATURES, dense, make_rows


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMATS)
def test_scale_is_that_of_svc_on_all_rows(form, dtype):
    source, target = make_rows(900, 1, form, dtype), make_rows(1500, 2, form, dtype)
    if form == "dense":
        target += dtype(3.0)
    stacked = (sparse.vstack if form == "csr" else np.vstack)([source, target])
    machine = SVC().fit(sparse.csr_matrix(stacked), np.arange(stacked.shape[0]) % 2)
    kernel = resolve_kernel("rbf", "scale", 3, 0.0, source, target)
    assert kernel.gamma == pytest.approx(machine._gamma, rel=1e-10)
    assert resolve_kernel("poly", "scale", 3, 0.0, source, target).gamma == kernel.gamma
    alone = resolve_kernel("rbf", "scale", 3, 0.0, None, target)
    assert alone.gamma == pytest.approx(
        1 / (N_FEATURES * dense(target).var(dtype=np.float64)), rel=1e-10
    )


@pytest.mark.parametrize("number", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("form", FORMATS)
def test_scale_of_equal_numbers_is_one(form, number):
    rows = np.full((7, 3), number)
    rows = sparse.csr_matrix(rows) if form == "csr" else rows
    assert resolve_kernel("rbf", "scale", 3, 0.0, rows, rows).gamma == 1.0


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rule", ["scale", "paper"])
def test_weights_count_rows_repeatedly(rule, form):
    source, target = make_rows(5, 1, form), make_rows(7, 2, form)
    weights = np.array([0, 1, 3, 1, 2, 1, 0, 0, 1, 1, 2, 1])
    repeated = [
        X[np.repeat(np.arange(X.shape[0]), w)]
        for X, w in ((source, weights[:5]), (target, weights[5:]))
    ]
    weighted = resolve_kernel("rbf", rule, 3, 0.0, source, target, weights=weights)
    plain = resolve_kernel("rbf", rule, 3, 0.0, *repeated)
    assert weighted.gamma == pytest.approx(plain.gamma, rel=1e-12)
    with pytest.raises(ValueError, match="one entry for each of the 12 rows"):
        resolve_kernel("rbf", rule, 3, 0.0, source, target, weights=weights[1:])
    with pytest.raises(ValueError, match="positive weight"):
        resolve_kernel("rbf", rule, 3, 0.0, source, target, weights=np.zeros(12))


@pytest.mark.parametrize("form", FORMATS)
def test_paper_is_the_square_of_the_mean_norm(form):
    source, target = make_rows(900, 1, form), make_rows(30, 2, form)
    norms = np.linalg.norm(dense(source), axis=1)
    kernel = resolve_kernel("rbf", "paper", 3, 0.0, source, target)
    assert kernel.gamma == pytest.approx(1 / norms.mean() ** 2)
    without = resolve_kernel("rbf", "paper", 3, 0.0, None, target)
    assert without.gamma == pytest.approx(1 / np.linalg.norm(dense(target), axis=1).mean() ** 2)
    assert resolve_kernel("rbf", "paper", 3, 0.0, None, 0 * target).gamma == 1.0


def test_a_number_is_taken_as_it_is():
    kernel = resolve_kernel("poly", np.float32(0.25), np.int64(2), 1, None, None)
    assert kernel == Kernel("poly", 0.25, 2, 1.0)
    assert type(kernel.gamma) is float


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kernel": "gauss"}, "kernel='gauss' is not known"),
        ({"gamma": "auto"}, "gamma='auto' must be"),
        ({"gamma": 0.0}, "gamma=0.0 must be"),
        ({"gamma": -1}, "gamma=-1 must be"),
        ({"gamma": np.nan}, "gamma=nan must be"),
        ({"gamma": None}, "gamma=None must be"),
        ({"gamma": True}, "gamma=True must be"),
        ({"degree": 1.5}, "degree=1.5 must be"),
        ({"degree": -1}, "degree=-1 must be"),
        ({"coef0": np.inf}, "coef0=inf must be"),
        ({"coef0": "1"}, "coef0='1' must be"),
    ],
)
def test_unusable_parameters_raise(changed, message):
    good = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0}
    with pytest.raises(ValueError, match=message):
        resolve_kernel(**(good | changed), X_source=np.eye(2), X_target=None)


def test_a_rule_for_gamma_needs_rows():
    with pytest.raises(ValueError, match="needs at least one row"):
        resolve_kernel("rbf", "scale", 3, 0.0, None, np.empty((0, 3)))
