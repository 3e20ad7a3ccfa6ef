# SPDX-License-Identifier: BSD-3-Clause
"""Choosing parameters and predicting out of bag, without any target label."""

from bagshift.model_selection._search_result import SearchResult
from bagshift.model_selection.circular_validation import (
    CircularValidation,
    circular_search,
    circular_validation,
)
from bagshift.model_selection.count_likelihood_cv import CountLikelihoodCV
from bagshift.model_selection.cross_val_predict import bag_cross_val_predict
from bagshift.model_selection.path_search import path_search
from bagshift.model_selection.scorers import (
    count_log_likelihood,
    get_bag_scorer,
    neg_share_error,
    neg_soft_share_error,
    share_error_soft_ties,
)
from bagshift.model_selection.splitters import (
    BagKFold,
    BagShuffleSplit,
    LeaveOneBagOut,
    RepeatedBagKFold,
)
from bagshift.model_selection.tgplm_cv import TGPLMCV

__all__ = [
    "TGPLMCV",
    "BagKFold",
    "BagShuffleSplit",
    "CircularValidation",
    "CountLikelihoodCV",
    "LeaveOneBagOut",
    "RepeatedBagKFold",
    "SearchResult",
    "bag_cross_val_predict",
    "circular_search",
    "circular_validation",
    "count_log_likelihood",
    "get_bag_scorer",
    "neg_share_error",
    "neg_soft_share_error",
    "path_search",
    "share_error_soft_ties",
]
