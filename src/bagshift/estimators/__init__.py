# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers, one method a file."""

from bagshift.estimators._base import BagTags, get_bag_tags
from bagshift.estimators._in_bags import predict_in_bags, predict_proba_in_bags
from bagshift.estimators.alternating_mean_map import AlternatingMeanMap
from bagshift.estimators.bag_csi import BagCSI
from bagshift.estimators.bag_em import BagEM
from bagshift.estimators.count_likelihood import CountLikelihoodClassifier
from bagshift.estimators.daksvm import DAKSVM
from bagshift.estimators.dasvm import DASVM
from bagshift.estimators.easy_llp import EasyLLP
from bagshift.estimators.inverse_calibration_svm import InverseCalibrationSVM
from bagshift.estimators.laplacian_mean_map import LaplacianMeanMap
from bagshift.estimators.llp_k_means import LLPKMeans
from bagshift.estimators.lmproj import LMPROJ
from bagshift.estimators.ls_tgplm import LSTGPLM
from bagshift.estimators.lwe import LWE
from bagshift.estimators.mean_map import MeanMap
from bagshift.estimators.one_vs_rest import OneVsRestBagClassifier
from bagshift.estimators.prior_shift import PriorShift
from bagshift.estimators.proportion_matching import ProportionMatching
from bagshift.estimators.proportion_svm import ProportionSVM
from bagshift.estimators.sigmoid_calibrator import SigmoidCalibrator
from bagshift.estimators.source_svm import SourceSVM
from bagshift.estimators.tgplm import TGPLM
from bagshift.estimators.tgplm_plus import TGPLMPlus
from bagshift.estimators.trsvm import TrSVM
from bagshift.estimators.true_label_svm import TrueLabelSVM
from bagshift.estimators.tsvm import TSVM

__all__ = [
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
    "BagTags",
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
]
