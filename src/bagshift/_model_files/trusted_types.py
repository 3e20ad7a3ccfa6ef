# SPDX-License-Identifier: BSD-3-Clause
"""The types that model files are made of, by the way each is rebuilt.

``tests/test_persistence.py`` fits every method on every kind of column, collects what the files
hold and compares it with this list. No entry is a function, and none rebuilds itself by calling
something named in the file.
"""

from __future__ import annotations

PLAIN_VALUES = frozenset(
    {"builtins.str", "builtins.int", "builtins.float", "builtins.bool", "builtins.NoneType"}
)
NUMPY_SCALARS = frozenset(
    f"numpy.{name}"
    for name in ("bool", "bool_", "str_", "int32", "int64", "uint64", "float32", "float64")
)

OBJECTS = frozenset(
    {
        "bagshift.estimators.alternating_mean_map.AlternatingMeanMap",
        "bagshift.estimators.bag_csi.BagCSI",
        "bagshift.estimators.bag_em.BagEM",
        "bagshift.estimators.count_likelihood.CountLikelihoodClassifier",
        "bagshift.estimators.daksvm.DAKSVM",
        "bagshift.estimators.dasvm.DASVM",
        "bagshift.estimators.easy_llp.EasyLLP",
        "bagshift.estimators.inverse_calibration_svm.InverseCalibrationSVM",
        "bagshift.estimators.laplacian_mean_map.LaplacianMeanMap",
        "bagshift.estimators.lmproj.LMPROJ",
        "bagshift.estimators.mean_map.MeanMap",
        "bagshift.estimators._calibrated_svm.CalibratedSVM",
        "bagshift.estimators.llp_k_means.LLPKMeans",
        "bagshift.estimators.ls_tgplm.LSTGPLM",
        "bagshift.estimators.lwe.LWE",
        "bagshift.estimators.one_vs_rest.OneVsRestBagClassifier",
        "bagshift.estimators.prior_shift.PriorShift",
        "bagshift.estimators.proportion_matching.ProportionMatching",
        "bagshift.estimators.proportion_svm.ProportionSVM",
        "bagshift.estimators.source_svm.SourceSVM",
        "bagshift.estimators.tgplm.TGPLM",
        "bagshift.estimators.tgplm_plus.TGPLMPlus",
        "bagshift.estimators.trsvm.TrSVM",
        "bagshift.estimators.true_label_svm.TrueLabelSVM",
        "bagshift.estimators.tsvm.TSVM",
        "bagshift.features.TableFeatures",
        "bagshift.kernels._functions.Kernel",
        "bagshift.model_selection.splitters.BagKFold",
        "bagshift.model_selection.splitters.BagShuffleSplit",
        "bagshift.model_selection.splitters.LeaveOneBagOut",
        "bagshift.model_selection.splitters.RepeatedBagKFold",
        "bagshift.model_selection.count_likelihood_cv.CountLikelihoodCV",
        "bagshift.model_selection.tgplm_cv.TGPLMCV",
        "bagshift.scale.prepared_columns.PreparedColumns",
        "polars.datatypes.classes.Date",
        "polars.datatypes.classes.Datetime",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.feature_extraction.text.TfidfTransformer",
        "sklearn.feature_extraction.text.TfidfVectorizer",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.naive_bayes.GaussianNB",
        "sklearn.naive_bayes.MultinomialNB",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._encoders.OneHotEncoder",
        "skrub._apply_to_each_col.ApplyToEachCol",
        "skrub._check_input.CheckInputDataFrame",
        "skrub._clean_categories.CleanCategories",
        "skrub._clean_null_strings.CleanNullStrings",
        "skrub._datetime_encoder.DatetimeEncoder",
        "skrub._drop_uninformative.DropUninformative",
        "skrub._duration_to_float.DurationToFloat",
        "skrub._string_encoder.StringEncoder",
        "skrub._table_vectorizer.PassThrough",
        "skrub._table_vectorizer.ShortReprDict",
        "skrub._to_datetime.ToDatetime",
        "skrub._to_float.ToFloat",
        "skrub._to_str.ToStr",
    }
)

# How skops rebuilds a node -> the types that may be rebuilt that way.
TRUSTED: dict[str, frozenset[str]] = {
    "DictNode": frozenset({"builtins.dict"}),
    "ListNode": frozenset({"builtins.list"}),
    "SetNode": frozenset({"builtins.set"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "JsonNode": frozenset({"builtins.str"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}) | NUMPY_SCALARS,
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "SparseMatrixNode": frozenset({"scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array"}),
    "TypeNode": PLAIN_VALUES | NUMPY_SCALARS,
    "ObjectNode": OBJECTS,
}
