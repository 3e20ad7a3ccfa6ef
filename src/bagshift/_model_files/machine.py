# SPDX-License-Identifier: BSD-3-Clause
"""What makes a fitted machine whole: its arrays fit each other and hold numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bagshift._model_files.faults import Fault, first_line
from bagshift.kernels import Kernel

KERNELS = ("linear", "rbf", "poly", "precomputed")
HIGHEST_DEGREE = 1000


def check_machine(machine: Any) -> None:
    """Raise when a fitted classifier of bagshift could not predict.

    Parameters
    ----------
    machine : estimator
        A fitted classifier.

    Raises
    ------
    Fault
        When a function is its kernel, or an attribute is missing, not finite, or of a shape that
        does not fit the others.
    """
    if callable(getattr(machine, "kernel", None)):
        raise Fault(
            "its kernel is a Python function, which a model file never holds; a kernel must be "
            "given by name"
        )
    try:
        machine._check_parameters()
    except ValueError as error:
        raise Fault(first_line(error)) from error
    _check_classes(machine)
    if "kernel" in machine.get_params(deep=False):
        _check_kernel(machine.kernel_)
        _check_expansion(machine, "")
        if hasattr(machine, "source_intercept_"):
            _check_expansion(machine, "source_")
    for name, shape in machine._saved_shapes().items():
        _check_array(getattr(machine, name), name, shape)
    if hasattr(machine, "feature_scale_"):
        for name in ("feature_center_", "feature_scale_"):
            _check_array(getattr(machine, name), name, (machine.n_features_in_,))


def _check_classes(machine: Any) -> None:
    classes = machine.classes_
    is_list = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2
    if not is_list or len(set(classes.tolist())) < len(classes):
        raise Fault("its classes_ are not two or more different classes")
    if len(classes) > 2 and not machine._takes_more_classes:
        raise Fault(f"a {type(machine).__name__} has two classes and this one {len(classes)}")
    positive = getattr(machine, "positive_class_", None)
    if len(classes) == 2 and positive not in classes.tolist():
        raise Fault("its positive_class_ is none of its classes_")


def _check_kernel(kernel: Any) -> None:
    is_whole = (
        isinstance(kernel, Kernel)
        and kernel.name in KERNELS
        and np.isfinite([kernel.gamma, kernel.coef0]).all()
        and kernel.degree in range(1, HIGHEST_DEGREE + 1)
    )
    if not is_whole:
        raise Fault("its kernel_ is none of bagshift's kernels")


def _check_expansion(machine: Any, prefix: str) -> None:
    """Check weights, or coefficients and the rows they belong to, and the intercept."""
    n_features = machine.n_features_in_
    kernel = machine.kernel_.name
    n_outputs = 1 if len(machine.classes_) == 2 else len(machine.classes_)
    shapes: dict[str, tuple[int, ...]] = {"intercept_": (n_outputs,)}
    if kernel == "linear":
        shapes["coef_"] = (n_outputs, n_features)
    elif kernel == "precomputed":
        shapes["dual_coef_"] = (n_outputs, n_features)
    elif hasattr(machine, "frequencies_"):
        n_frequencies = machine.frequencies_.shape[1]
        _check_array(machine.frequencies_, "frequencies_", (n_features, n_frequencies))
        shapes["coef_"] = (n_outputs, 2 * n_frequencies)
    else:
        rows = machine.support_vectors_
        _check_array(rows, "support_vectors_", (rows.shape[0], n_features))
        shapes["dual_coef_"] = (n_outputs, rows.shape[0])
    for name, shape in shapes.items():
        _check_array(getattr(machine, prefix + name), prefix + name, shape)


def _check_array(array: Any, name: str, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise Fault(f"its {name} has shape {array.shape} where {shape} is needed")
    values = array
    if sparse.issparse(array):
        # Indices beyond the end would be followed without a check.
        array.check_format(full_check=True)
        values = array.data
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise Fault(f"its {name} holds values that are not finite numbers")
