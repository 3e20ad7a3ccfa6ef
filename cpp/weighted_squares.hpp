// SPDX-License-Identifier: BSD-3-Clause
//
// The sum of outer products of rows that end in a one: what a Hessian of few features is made of.
// A library's product of matrices spends most of its time on rearranging such narrow ones.
#pragma once

#include <cstddef>

namespace bagshift {

// total[i][k] = sum over rows of factor * x_i * x_k, with x_n_features = 1: a symmetric matrix of
// n_features + 1 rows. Sums are in double precision.
void weighted_squares(const double* rows, std::ptrdiff_t n_rows, std::ptrdiff_t n_features,
                      const double* factors, double* total);
void weighted_squares(const float* rows, std::ptrdiff_t n_rows, std::ptrdiff_t n_features,
                      const double* factors, double* total);

}  // namespace bagshift
