# SPDX-License-Identifier: BSD-3-Clause
"""Classify individuals from group shares, helped by labelled history of a similar domain.

The names below are the public interface; everything else may move. They are imported on first
use, so that ``bagshift --help`` need not wait for scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bagshift.bags import Bags
    from bagshift.domains import stack_domains
    from bagshift.estimators import (
        DAKSVM,
        DASVM,
        LMPROJ,
        LSTGPLM,
        LWE,
        TGPLM,
        TSVM,
        AlternatingMeanMap,
        BagCSI,
        BagEM,
        CountLikelihoodClassifier,
        EasyLLP,
        InverseCalibrationSVM,
        LaplacianMeanMap,
        LLPKMeans,
        MeanMap,
        OneVsRestBagClassifier,
        PriorShift,
        ProportionMatching,
        ProportionSVM,
        SigmoidCalibrator,
        SourceSVM,
        TGPLMPlus,
        TrSVM,
        TrueLabelSVM,
        get_bag_tags,
        predict_in_bags,
        predict_proba_in_bags,
    )
    from bagshift.exceptions import (
        BagError,
        BagWarning,
        KernelMemoryError,
        ModelFileError,
        PositiveClassWarning,
        ReversedScoresWarning,
        RoundedShareWarning,
        SourceScaleWarning,
        TableError,
    )
    from bagshift.model_selection import (
        BagKFold,
        BagShuffleSplit,
        LeaveOneBagOut,
        RepeatedBagKFold,
        bag_cross_val_predict,
    )
    from bagshift.model_selection.count_likelihood_cv import CountLikelihoodCV
    from bagshift.model_selection.path_search import path_search
    from bagshift.model_selection.tgplm_cv import TGPLMCV
    from bagshift.noise import GaussianNoise, GeometricNoise, LaplaceNoise, Rounding
    from bagshift.privacy import noise_counts

__version__ = "0.1.0"

__all__ = [
    "DAKSVM",
    "DASVM",
    "LMPROJ",
    "LSTGPLM",
    "LWE",
    "TGPLM",
    "TGPLMCV",
    "TSVM",
    "AlternatingMeanMap",
    "BagCSI",
    "BagEM",
    "BagError",
    "BagKFold",
    "BagShuffleSplit",
    "BagWarning",
    "Bags",
    "CountLikelihoodCV",
    "CountLikelihoodClassifier",
    "EasyLLP",
    "GaussianNoise",
    "GeometricNoise",
    "InverseCalibrationSVM",
    "KernelMemoryError",
    "LLPKMeans",
    "LaplaceNoise",
    "LaplacianMeanMap",
    "LeaveOneBagOut",
    "MeanMap",
    "ModelFileError",
    "OneVsRestBagClassifier",
    "PositiveClassWarning",
    "PriorShift",
    "ProportionMatching",
    "ProportionSVM",
    "RepeatedBagKFold",
    "ReversedScoresWarning",
    "RoundedShareWarning",
    "Rounding",
    "SigmoidCalibrator",
    "SourceSVM",
    "SourceScaleWarning",
    "TGPLMPlus",
    "TableError",
    "TrSVM",
    "TrueLabelSVM",
    "bag_cross_val_predict",
    "get_bag_tags",
    "noise_counts",
    "path_search",
    "predict_in_bags",
    "predict_proba_in_bags",
    "stack_domains",
]

_HOMES = {
    "bags": ["Bags"],
    "domains": ["stack_domains"],
    "estimators": [
        "DAKSVM",
        "DASVM",
        "LMPROJ",
        "LSTGPLM",
        "LWE",
        "TGPLM",
        "TSVM",
        "AlternatingMeanMap",
        "BagCSI",
        "BagEM",
        "CountLikelihoodClassifier",
        "EasyLLP",
        "InverseCalibrationSVM",
        "LLPKMeans",
        "LaplacianMeanMap",
        "MeanMap",
        "OneVsRestBagClassifier",
        "PriorShift",
        "ProportionMatching",
        "ProportionSVM",
        "SigmoidCalibrator",
        "SourceSVM",
        "TGPLMPlus",
        "TrSVM",
        "TrueLabelSVM",
        "get_bag_tags",
        "predict_in_bags",
        "predict_proba_in_bags",
    ],
    "exceptions": [
        "BagError",
        "BagWarning",
        "KernelMemoryError",
        "ModelFileError",
        "PositiveClassWarning",
        "ReversedScoresWarning",
        "RoundedShareWarning",
        "SourceScaleWarning",
        "TableError",
    ],
    "model_selection": [
        "BagKFold",
        "BagShuffleSplit",
        "LeaveOneBagOut",
        "RepeatedBagKFold",
        "CountLikelihoodCV",
        "TGPLMCV",
        "bag_cross_val_predict",
        "path_search",
    ],
    "noise": ["GaussianNoise", "GeometricNoise", "LaplaceNoise", "Rounding"],
    "privacy": ["noise_counts"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return import_module(f"bagshift.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bagshift' has no attribute {name!r}")
    value = getattr(import_module(f"bagshift.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOMES})
