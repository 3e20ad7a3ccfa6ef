# SPDX-License-Identifier: BSD-3-Clause
"""What a newcomer is told who gives too little, too much, or asks for what is not there."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC

from bagshift import (
    DASVM,
    LMPROJ,
    TGPLM,
    TSVM,
    AlternatingMeanMap,
    BagCSI,
    BagEM,
    Bags,
    BagWarning,
    EasyLLP,
    InverseCalibrationSVM,
    LaplacianMeanMap,
    MeanMap,
    PriorShift,
    ProportionSVM,
    SourceSVM,
    TrueLabelSVM,
    get_bag_tags,
)
from problems import two_domains

FROM_BAGS = [EasyLLP, MeanMap, LaplacianMeanMap, AlternatingMeanMap, InverseCalibrationSVM]


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (TGPLM(), "give the bags of the rows as y, Bags.*, with or without labelled history as"),
        (PriorShift(), "give the bags of the rows as y, Bags.*, and labelled history as source="),
        (SourceSVM(), r"None; give labelled history as source=\(X, y\)\.$"),
        (
            EasyLLP(),
            r"None; give the bags of the rows as y, Bags.from_arrays\(bag_ids, shares\)\.$",
        ),
        (TrueLabelSVM(), r"None; give the label of every row as y\.$"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_rows_alone_are_not_enough(machine, says):
    X, _, _, _ = two_domains()
    with pytest.raises(ValueError, match=says):
        machine.fit(X, None)


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (TGPLM(), "ambiguous; put known target labels into .*with_labels.*these are bag ids"),
        (PriorShift(), r"ambiguous; train on all labelled rows without source=; if these are bag"),
        (LMPROJ(), "ambiguous; train on all .* without any labels of the target, give y=None"),
        (SourceSVM(), "ambiguous; train on all .* without any labels of the target, give y=None"),
        (TrueLabelSVM(), r"makes no use of a source; leave source= out\.$"),
        (EasyLLP(), "makes no use of a source; leave source= out; if these are bag ids"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_advice_on_labels_beside_a_source_is_of_use(machine, says):
    X, _, y, source = two_domains()
    with pytest.raises(ValueError, match=says):
        machine.fit(X, y, source=source)
    tags = get_bag_tags(machine)
    if tags.uses_source and tags.uses_target_labels:
        machine.fit(X, Bags.unlabelled(len(y)).with_labels(y), source=source)
    elif tags.uses_source and not tags.uses_bags:
        machine.fit(X, None, source=source)
    elif not tags.uses_source:
        machine.fit(X, y)


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (TSVM(), "TSVM has no predict_proba, for its scores are no log odds; fit a Sigmoid"),
        (SourceSVM(), "SourceSVM has no predict_proba, for its"),
        (BagEM(LinearSVC()), "BagEM has no predict_proba, for its .* such as TGPLM or PriorShift"),
        (DASVM(), "DASVM has predict_proba with probability=True only"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_where_probabilities_are_to_be_had(machine, says):
    assert not hasattr(machine, "predict_proba")
    for again in (machine, copy.deepcopy(machine), pickle.loads(pickle.dumps(machine))):
        with pytest.raises(AttributeError, match=says):
            again.predict_proba  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'predict_prob'$"):
        machine.predict_prob  # noqa: B018
    assert hasattr(DASVM(probability=True), "predict_proba")


@pytest.mark.parametrize(
    ("machine", "where"), [(EasyLLP(), "labelled rows"), (TGPLM(), "the source or from labelled")]
)
def test_equal_shares_name_only_what_the_machine_takes(machine, where):
    X, bags, _, _ = two_domains()
    equal = Bags.from_arrays(bags.bag_index, dict.fromkeys(range(bags.n_bags), 0.5))
    with pytest.warns(BagWarning, match=f"so who is positive must come from {where}"):
        machine.fit(X, equal)


def test_a_source_without_names_has_the_columns_of_the_target():
    X, bags, _, (X_source, y_source) = two_domains()
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = TGPLM().fit(rows, bags, source=(X_source, y_source))
    wanted = TGPLM().fit(X, bags, source=(X_source, y_source)).decision_function(X)
    np.testing.assert_allclose(machine.decision_function(rows), wanted, atol=1e-9)
    with pytest.raises(ValueError, match=r"rows of source= cannot be used.*2 features"):
        machine.fit(rows, bags, source=(X_source[:, :2], y_source))
    with pytest.raises(ValueError, match=r"rows of source= cannot be used.*feature names"):
        machine.fit(rows, bags, source=(pd.DataFrame(X_source, columns=list("abd")), y_source))


@pytest.mark.parametrize("machine", FROM_BAGS)
def test_docstrings_of_machines_that_refuse_a_source_say_so(machine):
    assert "learns from bags alone" in machine.fit.__doc__
    assert not get_bag_tags(machine()).uses_source


def test_docstrings_of_fit_are_those_of_the_machine():
    assert "labels of the target alone" in TrueLabelSVM.fit.__doc__
    assert "tuple, optional" not in BagCSI.fit.__doc__
    assert "None goes with" not in ProportionSVM.fit.__doc__
