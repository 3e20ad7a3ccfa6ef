# SPDX-License-Identifier: BSD-3-Clause
"""Measure something in a process of its own: its peak of memory is that of nothing else."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

GIBIBYTE = 2**30
EXPONENT_BAR = 1.1


def run_apart(script: str, *arguments: object) -> dict[str, Any]:
    """Run a script in a new process, and return what it prints as JSON."""
    command = [sys.executable, script, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def resident_bytes(entry: str = "VmRSS") -> int:
    """Return the memory this process holds now, or with "VmHWM" the most it ever held.

    ``ru_maxrss`` would not do: it starts from what the parent held.
    """
    with open("/proc/self/status", encoding="ascii") as status:
        sizes = dict(line.split(":", 1) for line in status)
    return int(sizes[entry].split()[0]) * 1024


def forget_peak() -> None:
    """Let the most memory that this process ever held be what it holds now."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def peak_gibibytes() -> float:
    """Return the most memory that this process ever held, or held since it was forgotten."""
    return resident_bytes("VmHWM") / GIBIBYTE


def print_exponent(rows: Sequence[int], seconds: Sequence[float]) -> bool:
    """Print with which power of the number of rows the time grows; nothing of a single number."""
    if len(set(rows)) < 2:
        return True
    exponent = float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])
    met = exponent <= EXPONENT_BAR
    print(f"Exponent of CPU time in rows: {exponent:.2f} (bar {EXPONENT_BAR:g}) ", end="")
    print("met" if met else "MISSED")
    return met
