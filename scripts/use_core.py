# SPDX-License-Identifier: BSD-3-Clause
"""Solve one program with the compiled core of an installed bagshift; needs NumPy alone."""

import numpy as np

from bagshift import _core


def main() -> None:
    """Solve a program whose solution is known."""
    positions = np.array([-1.0, 1.0])
    solution = _core.solve_coupled(
        gram=np.outer(positions, positions),
        n_source=0,
        targets=positions,
        half_widths=np.zeros(2),
        lower=np.array([-1.0, 0.0]),
        upper=np.array([0.0, 1.0]),
        within=1.0,
        across=0.0,
        inverse_coupling=0.0,
        guess=None,
        tol=1e-9,
        max_iter=100,
        use_newton=True,
    )
    print(f"{_core.__file__}: dual {solution.dual}, objective {solution.objective}")
    if not np.allclose(solution.dual, [-0.5, 0.5]):
        raise SystemExit("That is wrong: it should be -0.5 and 0.5.")


if __name__ == "__main__":
    main()
