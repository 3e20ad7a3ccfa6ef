// SPDX-License-Identifier: BSD-3-Clause
//
// Compiled with fused multiply-adds, so the last bits differ from machine to machine. What is
// solved here is a direction of search, and any direction will do: optimality is judged elsewhere.
#include "cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "lanes.hpp"

namespace bagshift {
namespace {

// Rows that are factorised together and then taken off all later rows: a block on the diagonal,
// and a panel right of it.
constexpr std::ptrdiff_t kBlock = 4;
static_assert(kBlock % kLanes == 0 && cholesky_stride(1) == kBlock);

// Rows that are finished one by one, and then taken off all later rows while they are in cache.
constexpr std::ptrdiff_t kDeep = 64;

constexpr double kFrozen = 1e100;

// The same columns of the four rows of a block.
BAGSHIFT_INLINE void load_rows(const double* first, std::ptrdiff_t stride, Lanes& row0,
                               Lanes& row1, Lanes& row2, Lanes& row3) {
  load(first, row0);
  load(first + stride, row1);
  load(first + 2 * stride, row2);
  load(first + 3 * stride, row3);
}

BAGSHIFT_INLINE void factor_block(double* block, std::ptrdiff_t size, std::ptrdiff_t stride,
                                  double least_pivot) {
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    double* row = block + i * stride;
    for (std::ptrdiff_t p = 0; p < i; ++p) {
      const double* other = block + p * stride;
      for (std::ptrdiff_t k = i; k < size; ++k) row[k] -= other[i] * other[k];
    }
    const double inverse = row[i] > least_pivot ? 1.0 / std::sqrt(row[i]) : 1.0 / kFrozen;
    row[i] = inverse;
    for (std::ptrdiff_t k = i + 1; k < size; ++k) row[k] *= inverse;
  }
}

// The rows of a panel, given the factor of its block.
BAGSHIFT_INLINE void finish_panel(double* block, std::ptrdiff_t stride, std::ptrdiff_t width) {
  double* row0 = block;
  double* row1 = row0 + stride;
  double* row2 = row1 + stride;
  double* row3 = row2 + stride;
  const double u01 = row0[1], u02 = row0[2], u03 = row0[3], u12 = row1[2], u13 = row1[3];
  const double u23 = row2[3], s0 = row0[0], s1 = row1[1], s2 = row2[2], s3 = row3[3];
  for (std::ptrdiff_t k = kBlock; k < width; k += kLanes) {
    Lanes x0, x1, x2, x3;
    load(row0 + k, x0);
    load(row1 + k, x1);
    load(row2 + k, x2);
    load(row3 + k, x3);
    x0 = x0 * s0;
    x1 = (x1 - u01 * x0) * s1;
    x2 = (x2 - u02 * x0 - u12 * x1) * s2;
    x3 = (x3 - u03 * x0 - u13 * x1 - u23 * x2) * s3;
    store(x0, row0 + k);
    store(x1, row1 + k);
    store(x2, row2 + k);
    store(x3, row3 + k);
  }
}

// The four rows from `row` on, in the columns from `column` on, less what finished rows have of
// them. Every number read is used four times or `kTile` times.
template <std::ptrdiff_t kTile>
BAGSHIFT_INLINE void subtract_tile(double* matrix, std::ptrdiff_t stride, std::ptrdiff_t first,
                                   std::ptrdiff_t last, std::ptrdiff_t row,
                                   std::ptrdiff_t column) {
  constexpr std::ptrdiff_t kWide = kTile / kLanes;
  Lanes sums0[kWide] = {};
  Lanes sums1[kWide] = {};
  Lanes sums2[kWide] = {};
  Lanes sums3[kWide] = {};
  for (std::ptrdiff_t p = first; p < last; ++p) {
    const double* u = matrix + p * stride + row;
    const double* right = matrix + p * stride + column;
#pragma GCC unroll 4
    for (std::ptrdiff_t w = 0; w < kWide; ++w) {
      Lanes x;
      load(right + w * kLanes, x);
      sums0[w] += u[0] * x;
      sums1[w] += u[1] * x;
      sums2[w] += u[2] * x;
      sums3[w] += u[3] * x;
    }
  }
  double* out = matrix + row * stride + column;
#pragma GCC unroll 4
  for (std::ptrdiff_t w = 0; w < kWide; ++w) {
    Lanes x;
    load(out + w * kLanes, x);
    store(x - sums0[w], out + w * kLanes);
    load(out + stride + w * kLanes, x);
    store(x - sums1[w], out + stride + w * kLanes);
    load(out + 2 * stride + w * kLanes, x);
    store(x - sums2[w], out + 2 * stride + w * kLanes);
    load(out + 3 * stride + w * kLanes, x);
    store(x - sums3[w], out + 3 * stride + w * kLanes);
  }
}

// Rows from `row` on in `kTile` columns or, at the end of the matrix, half of them.
BAGSHIFT_INLINE void subtract(double* matrix, std::ptrdiff_t stride, std::ptrdiff_t first,
                              std::ptrdiff_t last, std::ptrdiff_t row, std::ptrdiff_t column) {
  if (column + 2 * kBlock <= stride) {
    subtract_tile<2 * kBlock>(matrix, stride, first, last, row, column);
  } else {
    subtract_tile<kBlock>(matrix, stride, first, last, row, column);
  }
}

// U'y = x for `kSides` right-hand sides at once, so that one does not wait for its own sums.
template <int kSides>
BAGSHIFT_INLINE void solve_forward(const double* factor, std::ptrdiff_t n, std::ptrdiff_t stride,
                                   std::ptrdiff_t first, double* sides) {
  for (std::ptrdiff_t begin = first / kBlock * kBlock; begin < n; begin += kBlock) {
    const std::ptrdiff_t size = std::min(kBlock, n - begin);
    const double* rows = factor + begin * stride;
    double y[kSides][kBlock] = {};
    for (int c = 0; c < kSides; ++c) {
      double* x = sides + c * stride + begin;
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        double value = x[i];
        for (std::ptrdiff_t p = 0; p < i; ++p) value -= rows[p * stride + begin + i] * y[c][p];
        y[c][i] = value * rows[i * stride + begin + i];
        x[i] = y[c][i];
      }
    }
    if (size < kBlock) return;
    for (std::ptrdiff_t k = begin + kBlock; k < stride; k += kLanes) {
      Lanes row0, row1, row2, row3;
      load_rows(rows + k, stride, row0, row1, row2, row3);
#pragma GCC unroll 3
      for (int c = 0; c < kSides; ++c) {
        Lanes x;
        load(sides + c * stride + k, x);
        x -= (y[c][0] * row0 + y[c][1] * row1) + (y[c][2] * row2 + y[c][3] * row3);
        store(x, sides + c * stride + k);
      }
    }
  }
}

// U y = x, likewise.
template <int kSides>
BAGSHIFT_INLINE void solve_backward(const double* factor, std::ptrdiff_t n, std::ptrdiff_t stride,
                                    double* sides) {
  for (std::ptrdiff_t begin = (n - 1) / kBlock * kBlock; begin >= 0; begin -= kBlock) {
    const std::ptrdiff_t size = std::min(kBlock, n - begin);
    const double* rows = factor + begin * stride;
    double sums[kSides][kBlock] = {};
    if (begin + kBlock < n) {
      Lanes lanes0[kSides] = {};
      Lanes lanes1[kSides] = {};
      Lanes lanes2[kSides] = {};
      Lanes lanes3[kSides] = {};
      for (std::ptrdiff_t k = begin + kBlock; k < stride; k += kLanes) {
        Lanes row0, row1, row2, row3;
        load_rows(rows + k, stride, row0, row1, row2, row3);
#pragma GCC unroll 3
        for (int c = 0; c < kSides; ++c) {
          Lanes x;
          load(sides + c * stride + k, x);
          lanes0[c] += row0 * x;
          lanes1[c] += row1 * x;
          lanes2[c] += row2 * x;
          lanes3[c] += row3 * x;
        }
      }
#pragma GCC unroll 3
      for (int c = 0; c < kSides; ++c) {
#pragma GCC unroll 4
        for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane) {
          sums[c][0] += lane_of(lanes0[c], lane);
          sums[c][1] += lane_of(lanes1[c], lane);
          sums[c][2] += lane_of(lanes2[c], lane);
          sums[c][3] += lane_of(lanes3[c], lane);
        }
      }
    }
    for (int c = 0; c < kSides; ++c) {
      double* x = sides + c * stride + begin;
      for (std::ptrdiff_t i = size - 1; i >= 0; --i) {
        double value = x[i] - sums[c][i];
        for (std::ptrdiff_t p = i + 1; p < size; ++p) value -= rows[i * stride + begin + p] * x[p];
        x[i] = value * rows[i * stride + begin + i];
      }
    }
  }
}

template <int kSides>
BAGSHIFT_INLINE void solve_sides(const double* factor, std::ptrdiff_t n, std::ptrdiff_t first,
                                 double* sides) {
  solve_forward<kSides>(factor, n, cholesky_stride(n), first, sides);
  solve_backward<kSides>(factor, n, cholesky_stride(n), sides);
}

}  // namespace

BAGSHIFT_MULTIVERSION
void cholesky_factor(double* matrix, std::ptrdiff_t n, double least_pivot) {
  const std::ptrdiff_t stride = cholesky_stride(n);
  for (std::ptrdiff_t first = 0; first < n; first += kDeep) {
    const std::ptrdiff_t last = std::min(first + kDeep, stride);
    for (std::ptrdiff_t row = first; row < last; row += kBlock) {
      for (std::ptrdiff_t column = row; column < stride; column += 2 * kBlock) {
        subtract(matrix, stride, first, row, row, column);
      }
      double* block = matrix + row * stride + row;
      factor_block(block, std::min(kBlock, n - row), stride, least_pivot);
      if (row + kBlock < n) finish_panel(block, stride, stride - row);
    }
    for (std::ptrdiff_t row = last; row < stride; row += kBlock) {
      for (std::ptrdiff_t column = row; column < stride; column += 2 * kBlock) {
        subtract(matrix, stride, first, last, row, column);
      }
    }
  }
}

BAGSHIFT_MULTIVERSION
void cholesky_solve(const double* factor, std::ptrdiff_t n, std::ptrdiff_t first, double* sides,
                    int n_sides) {
  if (n_sides == 1) solve_sides<1>(factor, n, first, sides);
  if (n_sides == 2) solve_sides<2>(factor, n, first, sides);
  if (n_sides == 3) solve_sides<3>(factor, n, first, sides);
}

}  // namespace bagshift
