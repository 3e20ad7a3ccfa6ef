# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the paper that can be reproduced, in the order of the paper."""

from __future__ import annotations

from bagshift.experiments.paper.parts import Part
from bagshift.experiments.paper.real_data import FACES, TEXT
from bagshift.experiments.paper.sensitivity import SENSITIVITY
from bagshift.experiments.paper.synthetic import SYNTHETIC

PARTS: dict[str, Part] = {part.name: part for part in (SYNTHETIC, TEXT, FACES, SENSITIVITY)}
