// SPDX-License-Identifier: BSD-3-Clause
//
// Compiled with fused multiply-adds, so the last bits differ from machine to machine, as those of
// a product of matrices do. A curvature only says where to search.
#include "weighted_squares.hpp"

#include <vector>

#include "multiversion.hpp"

namespace bagshift {
namespace {

// A tile of the result: as many sums as registers hold.
constexpr std::ptrdiff_t kTall = 4;
constexpr std::ptrdiff_t kWide = 8;
static_assert(kWide % kTall == 0);

constexpr std::ptrdiff_t kRows = 64;  // taken together, so that they stay in cache

// A row that ends in a one, padded with zeros.
template <class Number>
BAGSHIFT_INLINE void widen(const Number* row, std::ptrdiff_t n_features, double factor,
                           double* plain, double* weighted) {
  for (std::ptrdiff_t i = 0; i < n_features; ++i) {
    plain[i] = static_cast<double>(row[i]);
    weighted[i] = factor * static_cast<double>(row[i]);
  }
  plain[n_features] = 1.0;
  weighted[n_features] = factor;
}

// total += the products of kTall columns with kWide columns over some rows.
BAGSHIFT_INLINE void add_tile(const double* weighted, const double* plain, std::ptrdiff_t n_rows,
                              std::ptrdiff_t stride, double* total) {
  double sums[kTall][kWide] = {};
  for (std::ptrdiff_t j = 0; j < n_rows; ++j, weighted += stride, plain += stride) {
    for (std::ptrdiff_t i = 0; i < kTall; ++i) {
#pragma omp simd
      for (std::ptrdiff_t k = 0; k < kWide; ++k) sums[i][k] += weighted[i] * plain[k];
    }
  }
  for (std::ptrdiff_t i = 0; i < kTall; ++i) {
#pragma omp simd
    for (std::ptrdiff_t k = 0; k < kWide; ++k) total[i * stride + k] += sums[i][k];
  }
}

// The tiles that have a part on the diagonal or above it.
BAGSHIFT_INLINE void add_tiles(const double* weighted, const double* plain, std::ptrdiff_t n_rows,
               std::ptrdiff_t stride, double* total) {
  for (std::ptrdiff_t i = 0; i < stride; i += kTall) {
    for (std::ptrdiff_t k = i / kWide * kWide; k < stride; k += kWide) {
      add_tile(weighted + i, plain + k, n_rows, stride, total + i * stride + k);
    }
  }
}

template <class Number>
BAGSHIFT_INLINE void add_up(const Number* rows, std::ptrdiff_t n_rows, std::ptrdiff_t n_features,
            const double* factors, double* total) {
  const std::ptrdiff_t size = n_features + 1, stride = (size + kWide - 1) / kWide * kWide;
  const auto block = static_cast<std::size_t>(kRows * stride);
  std::vector<double> plain(block), weighted(block);
  std::vector<double> sums(static_cast<std::size_t>(stride * stride));
  for (std::ptrdiff_t first = 0; first < n_rows; first += kRows) {
    const std::ptrdiff_t n = n_rows - first < kRows ? n_rows - first : kRows;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      widen(rows + (first + j) * n_features, n_features, factors[first + j],
            plain.data() + j * stride, weighted.data() + j * stride);
    }
    add_tiles(weighted.data(), plain.data(), n, stride, sums.data());
  }
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    for (std::ptrdiff_t k = i; k < size; ++k) {
      total[i * size + k] = total[k * size + i] = sums[static_cast<std::size_t>(i * stride + k)];
    }
  }
}

}  // namespace

BAGSHIFT_MULTIVERSION
void weighted_squares(const double* rows, std::ptrdiff_t n_rows, std::ptrdiff_t n_features,
                      const double* factors, double* total) {
  add_up(rows, n_rows, n_features, factors, total);
}

BAGSHIFT_MULTIVERSION
void weighted_squares(const float* rows, std::ptrdiff_t n_rows, std::ptrdiff_t n_features,
                      const double* factors, double* total) {
  add_up(rows, n_rows, n_features, factors, total);
}

}  // namespace bagshift
