// SPDX-License-Identifier: BSD-3-Clause
//
// This file alone is compiled with relaxed floating-point semantics (no NaN, no infinity, no
// signed zeros) so that minima and maxima vectorise, and without contraction into fused
// multiply-adds, so that every instruction set gives the same bits.
#include "smo_passes.hpp"

#include <algorithm>
#include <utility>

#include "multiversion.hpp"

namespace bagshift {
namespace {

// Position of an extreme does not vectorise, its value does: find the value block by block, then
// search the one block that holds it.
constexpr std::ptrdiff_t kBlock = 128;

template <class Real>
BAGSHIFT_INLINE Extremes step_and_scan_impl(const Segment& segment,
                                            const GradientStep<Real>& step) {
  double* BAGSHIFT_RESTRICT gradient = segment.gradient;
  const double* BAGSHIFT_RESTRICT up_offset = segment.up_offset;
  const double* BAGSHIFT_RESTRICT down_offset = segment.down_offset;
  const Real* BAGSHIFT_RESTRICT up_row = step.up_row;
  const Real* BAGSHIFT_RESTRICT down_row = step.down_row;
  const double up_weight = step.up_weight;
  const double down_weight = step.down_weight;

  Extremes found{kBlocked, segment.begin, -kBlocked};
  std::ptrdiff_t block_of_lowest = segment.begin;
  for (std::ptrdiff_t start = segment.begin; start < segment.end; start += kBlock) {
    const std::ptrdiff_t stop = std::min(start + kBlock, segment.end);
    double lowest = kBlocked;
    double highest = -kBlocked;
#pragma omp simd reduction(min : lowest) reduction(max : highest)
    for (std::ptrdiff_t k = start; k < stop; ++k) {
      const double value = gradient[k] + (up_weight * static_cast<double>(up_row[k]) -
                                          down_weight * static_cast<double>(down_row[k]));
      gradient[k] = value;
      const double up = value + up_offset[k];
      const double down = value + down_offset[k];
      lowest = up < lowest ? up : lowest;
      highest = down > highest ? down : highest;
    }
    if (lowest < found.lowest_up) {
      found.lowest_up = lowest;
      block_of_lowest = start;
    }
    found.highest_down = std::max(found.highest_down, highest);
  }

  // Without contraction the sum below has the bits of the one above, so the search ends.
  std::ptrdiff_t k = block_of_lowest;
  while (k < segment.end - 1 && gradient[k] + up_offset[k] > found.lowest_up) ++k;
  found.lowest_unit = k;
  return found;
}

template <class Real>
BAGSHIFT_INLINE Partner best_partner_impl(const Segment& segment,
                                          const PartnerQuery<Real>& query) {
  const double* BAGSHIFT_RESTRICT gradient = segment.gradient;
  const double* BAGSHIFT_RESTRICT down_offset = segment.down_offset;
  const double* BAGSHIFT_RESTRICT diagonal = segment.diagonal;
  const Real* BAGSHIFT_RESTRICT row = query.row;
  const double level = query.level;
  const double curvature = query.curvature;
  const double row_weight = query.row_weight;

  const auto gain_of = [&](std::ptrdiff_t k) {
    double slope = gradient[k] + down_offset[k] - level;
    slope = slope > 0.0 ? slope : 0.0;
    double bend = diagonal[k] + curvature - row_weight * static_cast<double>(row[k]);
    bend = bend > kLeastCurvature ? bend : kLeastCurvature;
    return slope * slope / bend;
  };

  // Divisions are dear: the gains of the best block so far are kept for the search in it.
  double buffers[2][kBlock];
  double* gains = buffers[0];
  double* best_gains = buffers[1];
  Partner found{0.0, -1};
  std::ptrdiff_t block_of_best = -1;
  for (std::ptrdiff_t start = segment.begin; start < segment.end; start += kBlock) {
    const std::ptrdiff_t size = std::min(kBlock, segment.end - start);
    double best = 0.0;
#pragma omp simd reduction(max : best)
    for (std::ptrdiff_t k = 0; k < size; ++k) {
      const double gain = gain_of(start + k);
      gains[k] = gain;
      best = gain > best ? gain : best;
    }
    if (best > found.gain) {
      found.gain = best;
      block_of_best = start;
      std::swap(gains, best_gains);
    }
  }
  if (block_of_best < 0) return found;

  const std::ptrdiff_t last = std::min(kBlock, segment.end - block_of_best) - 1;
  std::ptrdiff_t k = 0;
  while (k < last && best_gains[k] < found.gain) ++k;
  found.unit = block_of_best + k;
  return found;
}

template <class Real>
BAGSHIFT_INLINE void add_rows_impl(const Segment& segment, const RowBlock<Real>& block) {
  double* BAGSHIFT_RESTRICT gradient = segment.gradient;
  const Real* BAGSHIFT_RESTRICT row0 = block.rows[0];
  const Real* BAGSHIFT_RESTRICT row1 = block.rows[1];
  const Real* BAGSHIFT_RESTRICT row2 = block.rows[2];
  const Real* BAGSHIFT_RESTRICT row3 = block.rows[3];
  const double weight0 = block.weights[0];
  const double weight1 = block.weights[1];
  const double weight2 = block.weights[2];
  const double weight3 = block.weights[3];
#pragma omp simd
  for (std::ptrdiff_t k = segment.begin; k < segment.end; ++k) {
    gradient[k] += (weight0 * static_cast<double>(row0[k]) +
                    weight1 * static_cast<double>(row1[k])) +
                   (weight2 * static_cast<double>(row2[k]) +
                    weight3 * static_cast<double>(row3[k]));
  }
}

}  // namespace

BAGSHIFT_MULTIVERSION
Extremes step_and_scan(const Segment& segment, const GradientStep<double>& step) {
  return step_and_scan_impl(segment, step);
}

BAGSHIFT_MULTIVERSION
Extremes step_and_scan(const Segment& segment, const GradientStep<float>& step) {
  return step_and_scan_impl(segment, step);
}

BAGSHIFT_MULTIVERSION
Partner best_partner(const Segment& segment, const PartnerQuery<double>& query) {
  return best_partner_impl(segment, query);
}

BAGSHIFT_MULTIVERSION
Partner best_partner(const Segment& segment, const PartnerQuery<float>& query) {
  return best_partner_impl(segment, query);
}

BAGSHIFT_MULTIVERSION
void add_rows(const Segment& segment, const RowBlock<double>& block) {
  add_rows_impl(segment, block);
}

BAGSHIFT_MULTIVERSION
void add_rows(const Segment& segment, const RowBlock<float>& block) {
  add_rows_impl(segment, block);
}

}  // namespace bagshift
