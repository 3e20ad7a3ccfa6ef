// SPDX-License-Identifier: BSD-3-Clause
//
// Compiled with reassociation of sums in the marked loops and with fused multiply-adds, so the
// last bits differ from machine to machine. What is solved here is a direction of search, and any
// direction will do: optimality is judged elsewhere.
#include "cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "multiversion.hpp"

namespace bagshift {
namespace {

// Columns worked on together, as many as `subtract_dots` takes.
constexpr std::ptrdiff_t kPanel = 4;

constexpr double kFrozen = 1e100;

BAGSHIFT_INLINE double dot(const double* BAGSHIFT_RESTRICT a, const double* BAGSHIFT_RESTRICT b,
                           std::ptrdiff_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

// Two rows against four: every number read is used in several products.
BAGSHIFT_INLINE void subtract_dots(double* BAGSHIFT_RESTRICT row0, double* BAGSHIFT_RESTRICT row1,
                                   const double* matrix, std::ptrdiff_t stride,
                                   std::ptrdiff_t column, std::ptrdiff_t n) {
  const double* BAGSHIFT_RESTRICT b0 = matrix + column * stride;
  const double* BAGSHIFT_RESTRICT b1 = b0 + stride;
  const double* BAGSHIFT_RESTRICT b2 = b1 + stride;
  const double* BAGSHIFT_RESTRICT b3 = b2 + stride;
  double s00 = 0.0, s01 = 0.0, s02 = 0.0, s03 = 0.0;
  double s10 = 0.0, s11 = 0.0, s12 = 0.0, s13 = 0.0;
#pragma omp simd reduction(+ : s00, s01, s02, s03, s10, s11, s12, s13)
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    s00 += row0[k] * b0[k];
    s01 += row0[k] * b1[k];
    s02 += row0[k] * b2[k];
    s03 += row0[k] * b3[k];
    s10 += row1[k] * b0[k];
    s11 += row1[k] * b1[k];
    s12 += row1[k] * b2[k];
    s13 += row1[k] * b3[k];
  }
  row0[column] -= s00;
  row0[column + 1] -= s01;
  row0[column + 2] -= s02;
  row0[column + 3] -= s03;
  row1[column] -= s10;
  row1[column + 1] -= s11;
  row1[column + 2] -= s12;
  row1[column + 3] -= s13;
}

// Take the columns before the panel [begin, end) off rows `i` and `i + 1` within it.
BAGSHIFT_INLINE void update_rows(double* matrix, std::ptrdiff_t stride, std::ptrdiff_t i,
                                 std::ptrdiff_t n_rows, std::ptrdiff_t begin,
                                 std::ptrdiff_t end) {
  double* row = matrix + i * stride;
  std::ptrdiff_t j = begin;
  if (n_rows == 2) {
    for (; j + 4 <= end; j += 4) subtract_dots(row, row + stride, matrix, stride, j, begin);
  }
  for (std::ptrdiff_t r = 0; r < n_rows; ++r) {
    double* own = row + r * stride;
    for (std::ptrdiff_t k = j; k < end; ++k) own[k] -= dot(own, matrix + k * stride, begin);
  }
}

BAGSHIFT_INLINE void factor_impl(double* matrix, std::ptrdiff_t n, std::ptrdiff_t stride,
                                 double least_pivot) {
  for (std::ptrdiff_t begin = 0; begin < n; begin += kPanel) {
    const std::ptrdiff_t end = std::min(begin + kPanel, n);
    // Rows of the panel itself: entries above their diagonal come out as well, and are not used.
    for (std::ptrdiff_t i = begin; i < n && begin > 0; i += 2) {
      update_rows(matrix, stride, i, std::min<std::ptrdiff_t>(2, n - i), begin, end);
    }
    for (std::ptrdiff_t i = begin; i < n; ++i) {
      double* row = matrix + i * stride;
      const std::ptrdiff_t last = std::min(i, end);
      for (std::ptrdiff_t j = begin; j < last; ++j) {
        const double* other = matrix + j * stride;
        row[j] = (row[j] - dot(row + begin, other + begin, j - begin)) / other[j];
      }
      if (i < end) {
        const double pivot = row[i] - dot(row + begin, row + begin, i - begin);
        row[i] = pivot > least_pivot ? std::sqrt(pivot) : kFrozen;
      }
    }
  }
}

// Two rows at a time, so that what they share is read once.
BAGSHIFT_INLINE void solve_impl(const double* factor, std::ptrdiff_t n, std::ptrdiff_t stride,
                                std::ptrdiff_t first, double* BAGSHIFT_RESTRICT x) {
  std::ptrdiff_t i = first;
  for (; i + 2 <= n; i += 2) {
    const double* BAGSHIFT_RESTRICT row0 = factor + i * stride;
    const double* BAGSHIFT_RESTRICT row1 = row0 + stride;
    double sum0 = 0.0;
    double sum1 = 0.0;
#pragma omp simd reduction(+ : sum0, sum1)
    for (std::ptrdiff_t k = first; k < i; ++k) {
      sum0 += row0[k] * x[k];
      sum1 += row1[k] * x[k];
    }
    x[i] = (x[i] - sum0) / row0[i];
    x[i + 1] = (x[i + 1] - sum1 - row1[i] * x[i]) / row1[i + 1];
  }
  if (i < n) x[i] = (x[i] - dot(factor + i * stride + first, x + first, i - first)) /
                    factor[i * stride + i];

  i = n - 1;
  for (; i >= 1; i -= 2) {
    const double* BAGSHIFT_RESTRICT row0 = factor + i * stride;
    const double* BAGSHIFT_RESTRICT row1 = row0 - stride;
    const double value0 = x[i] / row0[i];
    const double value1 = (x[i - 1] - value0 * row0[i - 1]) / row1[i - 1];
    x[i] = value0;
    x[i - 1] = value1;
#pragma omp simd
    for (std::ptrdiff_t k = 0; k < i - 1; ++k) x[k] -= value0 * row0[k] + value1 * row1[k];
  }
  if (i == 0) x[0] /= factor[0];
}

}  // namespace

BAGSHIFT_MULTIVERSION
void cholesky_factor(double* matrix, std::ptrdiff_t n, std::ptrdiff_t stride,
                     double least_pivot) {
  factor_impl(matrix, n, stride, least_pivot);
}

BAGSHIFT_MULTIVERSION
void cholesky_solve(const double* factor, std::ptrdiff_t n, std::ptrdiff_t stride,
                    std::ptrdiff_t first, double* x) {
  solve_impl(factor, n, stride, first, x);
}

}  // namespace bagshift
