# SPDX-License-Identifier: BSD-3-Clause
"""What a user asks around a fit: can the bags teach, did the history help, is the answer right."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bagshift.inspection._interval import Interval, Intervals
    from bagshift.inspection.bag_bootstrap import BagBootstrap, bag_bootstrap
    from bagshift.inspection.estimate_accuracy import (
        AccuracyEstimate,
        AccuracyFigures,
        estimate_accuracy,
    )
    from bagshift.inspection.transfer_report import (
        DomainDistance,
        TransferPoint,
        TransferReport,
        transfer_report,
    )

__all__ = [
    "AccuracyEstimate",
    "AccuracyFigures",
    "BagBootstrap",
    "DomainDistance",
    "Interval",
    "Intervals",
    "TransferPoint",
    "TransferReport",
    "bag_bootstrap",
    "estimate_accuracy",
    "transfer_report",
]

# Imported on first use: each report needs other parts of the library.
_HOMES = {
    "_interval": ["Interval", "Intervals"],
    "bag_bootstrap": ["BagBootstrap", "bag_bootstrap"],
    "estimate_accuracy": ["AccuracyEstimate", "AccuracyFigures", "estimate_accuracy"],
    "transfer_report": ["DomainDistance", "TransferPoint", "TransferReport", "transfer_report"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """A package in which a name that a function and its module share means the function.

    The import system binds a module to its name in the package whenever it is imported, whoever
    does so, and would hide the function from then on.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        is_home = isinstance(value, ModuleType) and name in _HOME_OF
        super().__setattr__(name, getattr(value, name) if is_home else value)


sys.modules[__name__].__class__ = _Package
