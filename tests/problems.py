# SPDX-License-Identifier: BSD-3-Clause
"""Small problems that several test modules use."""

import numpy as np

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
    LeaveOneBagOut,
    LLPKMeans,
    MeanMap,
    OneVsRestBagClassifier,
    PriorShift,
    ProportionMatching,
    ProportionSVM,
    SourceSVM,
    TGPLMPlus,
    TrSVM,
)

# Few values, so that searches take no longer than other tests.
GRID = {"C_target": [1.0, 4.0], "coupling": [0.125, 1.0]}


def two_domains(seed=0, n_source=40, n_bags=12, bag_size=6, n_features=3, gap=1.6):
    """Return (X, bags, labels, source): target rows in bags and labelled history."""
    rng = np.random.default_rng(seed)
    y_source = np.arange(n_source) % 2
    X_source = rng.normal(size=(n_source, n_features)) + gap * (y_source[:, None] - 0.5)
    rates = np.linspace(0.05, 0.95, n_bags)[rng.permutation(n_bags)]
    labels = (rng.random(n_bags * bag_size) < np.repeat(rates, bag_size)).astype(int)
    X = rng.normal(size=(len(labels), n_features)) + gap * (labels[:, None] - 0.5) + 0.3
    ids = np.repeat(np.arange(n_bags), bag_size)
    shares = np.bincount(ids, labels) / bag_size
    bags = Bags.from_arrays(ids, dict(enumerate(shares)))
    return X, bags, labels, (X_source, y_source)


def machines(**settings):
    """Return one of every estimator with the source argument that it takes.

    Settings that an estimator does not have are left out.
    """
    return [(with_settings(machine, settings), takes) for machine, takes in all_machines()]


def with_settings(machine, settings):
    """Return a machine with those of the settings that it has."""
    known = machine.get_params(deep=False)
    return machine.set_params(**{key: settings[key] for key in settings if key in known})


def all_machines():
    """Return one of every estimator in its default settings, and whether it is given a source.

    But for TrueLabelSVM, which takes no bags.
    """
    return [
        (TGPLM(), True),
        (TGPLM(), False),
        (InverseCalibrationSVM(), False),
        (LSTGPLM(), True),
        (LSTGPLM(), False),
        (CountLikelihoodCV(GRID, LeaveOneBagOut()), True),
        (CountLikelihoodCV(GRID, LeaveOneBagOut()), False),
        (TGPLMCV(GRID, LeaveOneBagOut()), True),
        (TGPLMCV(GRID, LeaveOneBagOut()), False),
        (CountLikelihoodClassifier(), True),
        (CountLikelihoodClassifier(), False),
        (TGPLMPlus(), True),
        (TGPLMPlus(), False),
        (LWE(), True),
        (ProportionSVM(), True),
        (ProportionSVM(), False),
        (BagEM(), True),
        (OneVsRestBagClassifier(), True),
        (OneVsRestBagClassifier(InverseCalibrationSVM()), False),
        (BagEM(labels="posterior"), False),
        (LLPKMeans(), False),
        (TSVM(), True),
        (DASVM(), True),
        (SourceSVM(), True),
        (SourceSVM(threshold="prior"), True),
        (PriorShift(), True),
        (TrSVM(), True),
        (LMPROJ(), True),
        (DAKSVM(), True),
        (MeanMap(), False),
        (LaplacianMeanMap(), False),
        (AlternatingMeanMap(), False),
        (ProportionMatching(), True),
        (ProportionMatching(), False),
        (EasyLLP(), False),
        (EasyLLP(correction="clip"), False),
        (EasyLLP(correction="flood"), False),
        (BagCSI(), True),
    ]


def machine_name(case):
    """Return a test name for one entry of :func:`machines`."""
    machine, with_source = case
    suffix = "-prior" if getattr(machine, "threshold", None) else ""
    return f"{type(machine).__name__}{suffix}-{'source' if with_source else 'alone'}"
