// SPDX-License-Identifier: BSD-3-Clause
//
// Cholesky factor of a symmetric positive semidefinite matrix, and solutions by it. Matrices are
// row-major, and their upper triangle counts. Rows and right-hand sides are padded with zeros to
// `cholesky_stride(n)` entries, and there are as many rows, so that loops need no ends of their
// own; the rows added, and what is below the diagonal, hold anything.
//
// Written here because the matrices are small and many: a library call for each would cost as much
// as the work, and its threads would compete with those of a search.
#pragma once

#include <cstddef>

namespace bagshift {

constexpr std::ptrdiff_t cholesky_stride(std::ptrdiff_t n) { return (n + 3) / 4 * 4; }

// Replace `matrix` by U with matrix = U'U, but for the diagonal of U, of which the inverse stands
// there. A pivot that vanishes within `least_pivot` stands for an unknown that depends on those
// before it: its diagonal becomes so large that the unknown is zero in every solution.
void cholesky_factor(double* matrix, std::ptrdiff_t n, double least_pivot);

// Replace `n_sides` right-hand sides x, one to three, of `cholesky_stride(n)` entries each and
// zero before entry `first`, by the solutions y of U'U y = x.
void cholesky_solve(const double* factor, std::ptrdiff_t n, std::ptrdiff_t first, double* sides,
                    int n_sides);

}  // namespace bagshift
