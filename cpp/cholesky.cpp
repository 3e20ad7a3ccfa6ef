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

// Rows that are factorised together and then taken off all later rows.
constexpr std::ptrdiff_t kPanel = 4;

constexpr double kFrozen = 1e100;

// target[k] -= weight * row[k] for k in [begin, n).
BAGSHIFT_INLINE void subtract(double* BAGSHIFT_RESTRICT target, double weight,
                              const double* BAGSHIFT_RESTRICT row, std::ptrdiff_t begin,
                              std::ptrdiff_t n) {
#pragma omp simd
  for (std::ptrdiff_t k = begin; k < n; ++k) target[k] -= weight * row[k];
}

// Two rows less four others: every number read is used in several products.
BAGSHIFT_INLINE void subtract_panel(double* BAGSHIFT_RESTRICT row0,
                                    double* BAGSHIFT_RESTRICT row1, const double* panel,
                                    std::ptrdiff_t stride, std::ptrdiff_t i, std::ptrdiff_t n) {
  const double* BAGSHIFT_RESTRICT u0 = panel;
  const double* BAGSHIFT_RESTRICT u1 = u0 + stride;
  const double* BAGSHIFT_RESTRICT u2 = u1 + stride;
  const double* BAGSHIFT_RESTRICT u3 = u2 + stride;
  const double a0 = u0[i], a1 = u1[i], a2 = u2[i], a3 = u3[i];
  const double b0 = u0[i + 1], b1 = u1[i + 1], b2 = u2[i + 1], b3 = u3[i + 1];
  row0[i] -= a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3;
#pragma omp simd
  for (std::ptrdiff_t k = i + 1; k < n; ++k) {
    row0[k] -= (a0 * u0[k] + a1 * u1[k]) + (a2 * u2[k] + a3 * u3[k]);
    row1[k] -= (b0 * u0[k] + b1 * u1[k]) + (b2 * u2[k] + b3 * u3[k]);
  }
}

BAGSHIFT_INLINE void factor_impl(double* matrix, std::ptrdiff_t n, std::ptrdiff_t stride,
                                 double least_pivot) {
  for (std::ptrdiff_t begin = 0; begin < n; begin += kPanel) {
    const std::ptrdiff_t end = std::min(begin + kPanel, n);
    double* panel = matrix + begin * stride;
    for (std::ptrdiff_t i = begin; i < end; ++i) {
      double* BAGSHIFT_RESTRICT row = matrix + i * stride;
      for (std::ptrdiff_t p = begin; p < i; ++p) {
        const double* other = matrix + p * stride;
        subtract(row, other[i], other, i, n);
      }
      row[i] = row[i] > least_pivot ? std::sqrt(row[i]) : kFrozen;
      const double scale = 1.0 / row[i];
#pragma omp simd
      for (std::ptrdiff_t k = i + 1; k < n; ++k) row[k] *= scale;
    }
    if (end - begin < kPanel) break;
    std::ptrdiff_t i = end;
    for (; i + 2 <= n; i += 2) {
      double* row = matrix + i * stride;
      subtract_panel(row, row + stride, panel, stride, i, n);
    }
    for (std::ptrdiff_t p = begin; p < end && i < n; ++p) {
      const double* other = matrix + p * stride;
      subtract(matrix + i * stride, other[i], other, i, n);
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
    const double value0 = x[i] / row0[i];
    const double value1 = (x[i + 1] - value0 * row0[i + 1]) / row1[i + 1];
    x[i] = value0;
    x[i + 1] = value1;
#pragma omp simd
    for (std::ptrdiff_t k = i + 2; k < n; ++k) x[k] -= value0 * row0[k] + value1 * row1[k];
  }
  if (i < n) x[i] /= factor[i * stride + i];

  i = n - 1;
  for (; i >= 1; i -= 2) {
    const double* BAGSHIFT_RESTRICT row0 = factor + i * stride;
    const double* BAGSHIFT_RESTRICT row1 = row0 - stride;
    double sum0 = 0.0;
    double sum1 = 0.0;
#pragma omp simd reduction(+ : sum0, sum1)
    for (std::ptrdiff_t k = i + 1; k < n; ++k) {
      sum0 += row0[k] * x[k];
      sum1 += row1[k] * x[k];
    }
    x[i] = (x[i] - sum0) / row0[i];
    x[i - 1] = (x[i - 1] - sum1 - row1[i] * x[i]) / row1[i - 1];
  }
  if (i < 0) return;
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::ptrdiff_t k = 1; k < n; ++k) sum += factor[k] * x[k];
  x[0] = (x[0] - sum) / factor[0];
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
