# SPDX-License-Identifier: BSD-3-Clause
"""Names, values and types in SQL that DuckDB and PostgreSQL read in the same way."""

from __future__ import annotations

import re
from typing import Literal

from bagshift.exceptions import TableError

Storage = Literal["whole", "float", "decimal", "boolean", "date", "text"]

WHOLE_TYPES = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
LARGE_WHOLE_TYPES = {"UBIGINT", "HUGEINT", "UHUGEINT"}
# A decimal of this many digits, none of them after the point, fits into 64 bits.
MOST_WHOLE_DIGITS = 18
DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def quoted(name: str) -> str:
    """Write the name of a column or table.

    Examples
    --------
    >>> print(quoted('a"; drop table x; --'))
    "a""; drop table x; --"
    """
    if "\0" in name:
        raise TableError(f"Column {name!r} has a zero character in its name; rename it.")
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Write a text.

    Examples
    --------
    >>> print(text_literal("Cote d'Or"))
    'Cote d''Or'
    """
    return "'" + text.replace("'", "''") + "'"


def number_literal(number: float) -> str:
    """Write a number so that it is read as a double, digit for digit.

    Brackets keep the sign of a negative number apart: two minus signs would begin a comment.

    Examples
    --------
    >>> number_literal(0.1), number_literal(-2.0), number_literal(1e-7)
    ('0.1e0', '(-2.0e0)', '1e-07')
    """
    digits = repr(float(number))
    digits = digits if "e" in digits else f"{digits}e0"
    return f"({digits})" if digits.startswith("-") else digits


def text_list(texts: list[str]) -> str:
    """Write a list for IN and for the readers of files."""
    return ", ".join(map(text_literal, texts))


def storage_of(type_name: str) -> Storage | None:
    """Say how DuckDB stores a column; None for what cannot be a feature.

    Parameters
    ----------
    type_name : str
        As DESCRIBE writes it.

    Examples
    --------
    >>> storage_of("BIGINT"), storage_of("ENUM('a', 'b')"), storage_of("INTEGER[]")
    ('whole', 'text', None)
    """
    if type_name in WHOLE_TYPES:
        return "whole"
    if type_name in LARGE_WHOLE_TYPES or DECIMAL.fullmatch(type_name):
        return "decimal"
    if type_name in ("FLOAT", "DOUBLE"):
        return "float"
    if type_name == "BOOLEAN":
        return "boolean"
    if type_name == "DATE" or type_name.startswith("TIMESTAMP"):
        return "date"
    # A column of a frame in which every value is missing has no type.
    is_text = type_name in ("VARCHAR", "UUID", '"NULL"') or (
        type_name.startswith("ENUM(") and type_name.endswith(")")
    )
    return "text" if is_text else None


def is_whole_decimal(type_name: str) -> bool:
    """Tell decimals without digits after the point that fit into 64 bits."""
    found = DECIMAL.fullmatch(type_name)
    return found is not None and int(found[1]) <= MOST_WHOLE_DIGITS and found[2] == "0"
