# SPDX-License-Identifier: BSD-3-Clause
"""Files bigger than memory: read by DuckDB within a limit, handed on as files of NumPy.

The order of work: :func:`rows_from` names the rows, :func:`connect` opens the database,
:func:`prepare_tables` decides how columns become features, by way of :func:`column_statistics` and
:func:`prepare`, :func:`index_bags` meets bags and shares; then :func:`bag_means` groups the target
by bag, and :func:`decode_rows` writes the rows of the history, or of the target, as features,
which :func:`stored_rows` reads again. All of it can be interrupted at any moment and goes on where
it was.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bagshift.scale._feature_numpy import apply_preparation
from bagshift.scale._keys import BagIds
from bagshift.scale._streaming import Progress
from bagshift.scale.bag_index import BagIndex, ShareTable, Unmatched, index_bags
from bagshift.scale.connection import connect, memory_bytes
from bagshift.scale.decoding import DecodedRows, decode_rows
from bagshift.scale.labels import LabelColumn, label_counts
from bagshift.scale.means import BagMeans, bag_means, bag_means_sql
from bagshift.scale.planning import Plan, Step, plan
from bagshift.scale.preparation import Feature, Preparation, prepare
from bagshift.scale.preparing import PreparedTables, prepare_tables
from bagshift.scale.rows import Rows, rows_from
from bagshift.scale.sampling import SampledBags, draw_bags, sample_bags
from bagshift.scale.statistics import ColumnStatistics, TableStatistics, column_statistics
from bagshift.scale.stored_rows import StoredRows, stored_rows

if TYPE_CHECKING:
    from bagshift.scale.dask_fit import fit_dask
    from bagshift.scale.prepared_columns import PreparedColumns

__all__ = [
    "BagIds",
    "BagIndex",
    "BagMeans",
    "ColumnStatistics",
    "DecodedRows",
    "Feature",
    "LabelColumn",
    "Plan",
    "Preparation",
    "PreparedColumns",
    "PreparedTables",
    "Progress",
    "Rows",
    "SampledBags",
    "ShareTable",
    "Step",
    "StoredRows",
    "TableStatistics",
    "Unmatched",
    "apply_preparation",
    "bag_means",
    "bag_means_sql",
    "column_statistics",
    "connect",
    "decode_rows",
    "draw_bags",
    "fit_dask",
    "index_bags",
    "label_counts",
    "memory_bytes",
    "plan",
    "prepare",
    "prepare_tables",
    "rows_from",
    "sample_bags",
    "stored_rows",
]

# What needs the estimators, whose import takes as much memory again as that of all the rest, is
# imported when it is asked for.
_HOME_OF = {"PreparedColumns": "prepared_columns", "fit_dask": "dask_fit"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bagshift.scale' has no attribute {name!r}")
    value = getattr(import_module(f"bagshift.scale.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
