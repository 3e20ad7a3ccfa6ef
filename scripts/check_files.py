# SPDX-License-Identifier: BSD-3-Clause
"""Check files named on the command line: line ends, blanks at line ends, size.

Without names, every file that git tracks is checked.
"""

import subprocess
import sys
from pathlib import Path

LARGEST = 500 * 1024


def complaints(path: Path) -> list[str]:
    """Return what is wrong with one file, in words.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of str
        One sentence part per trouble; empty when there is none.
    """
    content = path.read_bytes()
    found = []
    if len(content) > LARGEST:
        found.append(f"{len(content) // 1024} kB: too large for the repository")
    if b"\0" in content or not content:
        return found
    if not content.endswith(b"\n") or content.endswith(b"\n\n"):
        found.append("should end with exactly one newline")
    if b"\r" in content:
        found.append("has carriage returns")
    lines = content.split(b"\n")
    if blank := [str(n) for n, line in enumerate(lines, 1) if line != line.rstrip()]:
        found.append(f"has blanks at the end of line {', '.join(blank[:5])}")
    return found


def tracked_files() -> list[str]:
    """Return the files that git knows of."""
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name]


def main() -> int:
    """Print complaints; return 1 if there were any."""
    paths = [Path(name) for name in sys.argv[1:] or tracked_files()]
    troubles = [f"{path}: {what}" for path in paths if path.is_file() for what in complaints(path)]
    print("\n".join(troubles), end="\n" if troubles else "")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
