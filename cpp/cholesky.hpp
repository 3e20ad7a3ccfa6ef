// SPDX-License-Identifier: BSD-3-Clause
//
// Cholesky factor of a symmetric positive semidefinite matrix, and solutions by it. Matrices are
// row-major, of which only the upper triangle is read and written.
//
// Written here because the matrices are small and many: a library call for each would cost as much
// as the work, and its threads would compete with those of a search.
#pragma once

#include <cstddef>

namespace bagshift {

// Replace the upper triangle of `matrix` by U with matrix = U'U. A pivot that vanishes within
// `least_pivot` stands for an unknown that depends on those before it: its diagonal becomes so
// large that the unknown is zero in every solution.
void cholesky_factor(double* matrix, std::ptrdiff_t n, std::ptrdiff_t stride, double least_pivot);

// Replace `x`, zero before entry `first`, by the solution y of U'U y = x.
void cholesky_solve(const double* factor, std::ptrdiff_t n, std::ptrdiff_t stride,
                    std::ptrdiff_t first, double* x);

}  // namespace bagshift
