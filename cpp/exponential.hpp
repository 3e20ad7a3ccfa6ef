// SPDX-License-Identifier: BSD-3-Clause
//
// Values of RBF kernels from inner products.
//
// The exponential is our own although every C library has a well-kept one: that is not vectorised,
// NumPy's is on processors with AVX-512 only, and it is where most of the time of a kernel matrix
// goes.
#pragma once

#include <cstddef>

namespace bagshift {

// Inner products of rows u_i and v_j, a row of them after the other, and what makes distances of
// them: |u_i - v_j|^2 = |u_i|^2 + |v_j|^2 - 2 u_i'v_j.
template <class Real>
struct Products {
  Real* values;
  std::ptrdiff_t n_rows;
  std::ptrdiff_t n_columns;
  const double* row_norms;     // squared
  const double* column_norms;  // squared
};

// Overwrite the products of two sets of rows by exp(-gamma |u_i - v_j|^2), gamma >= 0. Exponents
// above zero, which come of rounding, count as zero; NaN stays NaN. The exponential is within one
// unit in the last place, subnormal numbers included, and zero where it rounds to zero.
void rbf_values(const Products<double>& products, double gamma);
void rbf_values(const Products<float>& products, double gamma);

// The same where both sets are one: products below the diagonal are read, and what comes out is
// symmetric, with ones on the diagonal.
void symmetric_rbf_values(const Products<double>& products, double gamma);
void symmetric_rbf_values(const Products<float>& products, double gamma);

}  // namespace bagshift
