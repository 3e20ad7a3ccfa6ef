# SPDX-License-Identifier: BSD-3-Clause
"""TrueLabelSVM is an SVC on target labels, says so in its tag, and takes nothing else."""

import numpy as np
import pytest
from sklearn.svm import SVC

from bagshift import Bags, SourceSVM, TrueLabelSVM, get_bag_tags
from problems import two_domains


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"gamma": 0.4}, {"kernel": "poly"}])
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_is_an_svc_on_the_target(kernel, C):
    X, _, labels, _ = two_domains()
    weight = np.linspace(0.2, 2.0, len(X))
    svc = SVC(C=C, tol=1e-9, **kernel).fit(X, labels, sample_weight=weight)
    machine = TrueLabelSVM(C, tol=1e-9, **{"gamma": svc._gamma, **kernel})
    machine.fit(X, labels, sample_weight=weight)
    np.testing.assert_allclose(machine.decision_function(X), svc.decision_function(X), atol=1e-4)


def test_labels_inside_bags_are_the_same_labels():
    X, _, labels, _ = two_domains()
    known = Bags.unlabelled(len(X)).with_labels(labels)
    one, two = TrueLabelSVM().fit(X, labels), TrueLabelSVM().fit(X, known)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    floor = SourceSVM().fit(X, labels)
    np.testing.assert_array_equal(one.decision_function(X), floor.decision_function(X))


def test_the_tag_says_that_it_needs_what_no_user_has():
    tags = get_bag_tags(TrueLabelSVM())
    assert tags.needs_target_labels
    assert (tags.uses_source, tags.needs_source, tags.uses_bags) == (False, False, False)
    assert not get_bag_tags(SourceSVM()).needs_target_labels


def test_what_it_cannot_use_is_refused():
    X, bags, labels, source = two_domains()
    known = Bags.unlabelled(len(X)).with_labels(labels)
    with pytest.raises(ValueError, match="true labels of the target alone; leave source= out"):
        TrueLabelSVM().fit(X, known, source=source)
    with pytest.raises(ValueError, match="and 72 of 72 rows have none; give labels as y"):
        TrueLabelSVM().fit(X, bags)
    some = Bags.unlabelled(len(X)).with_labels([None, *labels[1:]])
    with pytest.raises(ValueError, match="and 1 of 72 rows have none"):
        TrueLabelSVM().fit(X, some)
    with pytest.raises(ValueError, match="makes no use of a source; leave source= out"):
        TrueLabelSVM().fit(X, labels, source=source)


def test_labels_of_one_class_are_refused():
    X, _, _, _ = two_domains()
    known = Bags.unlabelled(len(X)).with_labels(np.ones(len(X), dtype=int))
    with pytest.raises(ValueError, match=r"both classes|hold one class"):
        TrueLabelSVM().fit(X, known)
    with pytest.raises(ValueError, match="The labels hold one class, 1; two classes"):
        TrueLabelSVM().fit(X, np.ones(len(X), dtype=int))
    with pytest.raises(ValueError, match=r"both classes|hold one class"):
        SourceSVM().fit(X, known)
