# SPDX-License-Identifier: BSD-3-Clause
"""Files bigger than memory: read by DuckDB within a limit, handed on as files of NumPy.

The order of work: :func:`rows_from` names the rows, :func:`connect` opens the database,
:func:`column_statistics` and :func:`prepare` decide how columns become features,
:func:`index_bags` meets bags and shares; then :func:`bag_means` groups the target by bag, and
:func:`decode_rows` writes the rows of the history, or of the target, as features. All of it can be
interrupted at any moment and goes on where it was.
"""

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
from bagshift.scale.rows import Rows, rows_from
from bagshift.scale.statistics import ColumnStatistics, TableStatistics, column_statistics

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
    "Progress",
    "Rows",
    "ShareTable",
    "Step",
    "TableStatistics",
    "Unmatched",
    "apply_preparation",
    "bag_means",
    "bag_means_sql",
    "column_statistics",
    "connect",
    "decode_rows",
    "index_bags",
    "label_counts",
    "memory_bytes",
    "plan",
    "prepare",
    "rows_from",
]
