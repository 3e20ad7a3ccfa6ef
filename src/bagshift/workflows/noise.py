# SPDX-License-Identifier: BSD-3-Clause
"""How published shares or counts were changed, as it is written in one option."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bagshift.exceptions import name_some
from bagshift.noise import GaussianNoise, GeometricNoise, LaplaceNoise, NoiseLaw, Rounding

UNITS = ("counts", "shares")
# The number of each law, and whether it comes with a unit.
NUMBERS = {
    "laplace": ("scale", True),
    "gaussian": ("scale", True),
    "geometric": ("epsilon", False),
    "rounding": ("digits", False),
}
EXAMPLES = {
    "laplace": "laplace:scale=2,unit=counts",
    "gaussian": "gaussian:scale=0.03,unit=shares",
    "geometric": "geometric:epsilon=0.5",
    "rounding": "rounding:digits=2",
}


@dataclass(frozen=True)
class NoiseRequest:
    """A law for all bags, or one whose number differs from bag to bag.

    Attributes
    ----------
    law : {"laplace", "gaussian", "geometric", "rounding"}
        Kind of noise.
    number : float, optional
        Its scale, epsilon or digits.
    column : str, optional
        In place of `number`, a column beside the shares that holds it for every bag.
    unit : {"counts", "shares"}, optional
        What a scale is measured in.
    """

    law: str
    number: float | None = None
    column: str | None = None
    unit: str | None = None

    @property
    def name_of_number(self) -> str:
        """Which number the law takes."""
        return NUMBERS[self.law][0]

    @property
    def is_additive(self) -> bool:
        """Whether shares may leave 0 to 1."""
        return self.law != "rounding"

    @property
    def stays_whole(self) -> bool:
        """Whether counts are whole numbers all the same."""
        return self.law in ("geometric", "rounding")

    @property
    def zero_is_exact(self) -> bool:
        """Whether 0 in the column says that the number of a bag is exact."""
        return self.name_of_number == "scale"

    def law_of(self, number: float | None = None) -> NoiseLaw | None:
        """Return the law of a bag.

        Parameters
        ----------
        number : float, optional
            What the column says of the bag.

        Returns
        -------
        NoiseLaw or None
            None where the number of the bag is exact.

        Raises
        ------
        ValueError
            When there is no law with this number.
        """
        value = self.number if number is None else number
        if value is None:
            raise ValueError(f"{self.name_of_number} is missing.")
        if number == 0 and self.zero_is_exact:
            return None
        if self.law == "geometric":
            return GeometricNoise(value)
        if self.law == "rounding":
            return Rounding(int(value) if value == round(value) else value)  # type: ignore[arg-type]
        kind = LaplaceNoise if self.law == "laplace" else GaussianNoise
        return kind(value, unit=self.unit)  # type: ignore[arg-type]

    def describe(self) -> str:
        """Put the law into words.

        Returns
        -------
        str

        Examples
        --------
        >>> parse_noise("laplace:scale=2,unit=counts").describe()
        'Laplace, scale 2 in counts'
        >>> parse_noise("rounding:digits=2").describe()
        'rounded to 2 decimals'
        """
        unit = f" in {self.unit}" if self.unit else ""
        where = f"from column {self.column!r}" if self.column else f"{self.number:g}"
        if self.law == "rounding":
            if self.column:
                return f"rounded to decimals {where}"
            return f"rounded to {where} decimal{'' if self.number == 1 else 's'}"
        kind = "two-sided geometric" if self.law == "geometric" else self.law.capitalize()
        name = "standard deviation" if self.law == "gaussian" else self.name_of_number
        if self.column:
            return f"{kind}, {name}{unit} {where}"
        return f"{kind}, {name} {where}{unit}"

    def as_option(self) -> str:
        """Write the law as the command line takes it.

        Returns
        -------
        str

        Examples
        --------
        >>> parse_noise("laplace:scale=2,unit=counts").as_option()
        'laplace:scale=2,unit=counts'
        """
        number = f"column={self.column}"
        if self.column is None:
            number = f"{self.name_of_number}={self.number:.15g}"
        parts = [number]
        if self.unit:
            parts.append(f"unit={self.unit}")
        return f"{self.law}:{','.join(parts)}"

    def as_dict(self) -> dict[str, Any]:
        """Return what is known of the law, by name.

        Returns
        -------
        dict
        """
        return {name: value for name, value in asdict(self).items() if value is not None}


def noise_at_fit(report: dict[str, Any]) -> NoiseRequest | None:
    """Return the law of the shares that a model was fitted on.

    Parameters
    ----------
    report : dict
        Of the fit, from the manifest of the model.

    Returns
    -------
    NoiseRequest or None
        None where they were exact, or a law that is not known here.
    """
    known = report.get("noise")
    if not isinstance(known, dict):
        return None
    try:
        request = NoiseRequest(**known)
        if request.column is None:
            request.law_of()
        request.describe()
    except (KeyError, TypeError, ValueError):
        return None
    return request


def parse_noise(written: str) -> NoiseRequest:
    """Read a law such as ``laplace:scale=2,unit=counts``.

    Parameters
    ----------
    written : str
        Kind of noise, a colon, and its number as ``name=value``; ``column=NAME`` in place of the
        number takes it from a column.

    Returns
    -------
    NoiseRequest

    Raises
    ------
    ValueError
        One sentence that shows how it is written.

    Examples
    --------
    >>> parse_noise("gaussian:column=standard_error,unit=shares")
    NoiseRequest(law='gaussian', number=None, column='standard_error', unit='shares')
    """
    law, _, rest = written.partition(":")
    law = law.strip().lower()
    if law not in NUMBERS:
        raise ValueError(f"{law!r} is no noise; write one of {', '.join(EXAMPLES.values())}.")
    request = _with_parts(law, _parts(law, rest))
    if request.column is None:
        try:
            request.law_of()
        except (TypeError, ValueError) as error:
            raise ValueError(f"{str(error).removesuffix('.')}; {_as_in(law)}.") from None
    return request


def _parts(law: str, rest: str) -> dict[str, str]:
    number, has_unit = NUMBERS[law]
    known = [number, "column", *(["unit"] if has_unit else [])]
    parts: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in rest.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in known or not value or name in parts:
            raise ValueError(f"{part!r} is not understood for {law} noise; {_as_in(law)}.")
        parts[name] = value
    return parts


def _with_parts(law: str, parts: dict[str, str]) -> NoiseRequest:
    number, has_unit = NUMBERS[law]
    if (number in parts) == ("column" in parts):
        both = "not both" if number in parts else "one of them"
        raise ValueError(f"{law} noise takes {number}= or column=, {both}; {_as_in(law)}.")
    if has_unit and parts.get("unit") not in UNITS:
        written = f", not {parts['unit']!r}" if "unit" in parts else ""
        raise ValueError(f"{law} noise needs unit=counts or unit=shares{written}; {_as_in(law)}.")
    try:
        value = float(parts[number]) if number in parts else None
    except ValueError:
        raise ValueError(
            f"{number} of {law} noise is a number, not {name_some([parts[number]])}; "
            f"{_as_in(law)}."
        ) from None
    return NoiseRequest(law, value, parts.get("column"), parts.get("unit"))


def _as_in(law: str) -> str:
    return f"write it as in {EXAMPLES[law]}"
