// SPDX-License-Identifier: BSD-3-Clause
//
// The two vectorised passes of one iteration of sequential minimal optimisation (SMO), and the
// row sums from which the gradient is rebuilt. They work on a *segment*, the units of one domain,
// within which every Gram row enters with one weight.
#pragma once

#include <cstddef>

namespace bagshift {

// Stands for "this unit cannot move that way". Finite, because these loops are compiled under the
// assumption that no infinity occurs, and far beyond any gradient.
constexpr double kBlocked = 1e30;

// Curvatures below this (two equal units) count as this, so that the step is long but finite.
constexpr double kLeastCurvature = 1e-12;

// Units [begin, end) of the arrays that both passes read; `gradient` is also written.
struct Segment {
  double* gradient;
  const double* up_offset;    // added to the gradient: slope of a move up; kBlocked at the bound
  const double* down_offset;  // the same for a move down; -kBlocked at the bound
  const double* diagonal;
  std::ptrdiff_t begin;
  std::ptrdiff_t end;
};

// The step taken last: gradient += up_weight * up_row - down_weight * down_row.
template <class Real>
struct GradientStep {
  const Real* up_row;
  const Real* down_row;
  double up_weight;
  double down_weight;
};

struct Extremes {
  double lowest_up;           // smallest slope of a move up
  std::ptrdiff_t lowest_unit;
  double highest_down;        // largest slope of a move down
};

// What makes a partner for the chosen unit: its Gram row and the slope and curvature it brings.
template <class Real>
struct PartnerQuery {
  const Real* row;
  double level;           // slope of the chosen unit, on this segment's scale
  double curvature;       // added to the diagonal
  double row_weight;      // curvature falls by row_weight * row[j]
};

struct Partner {
  double gain;                // twice the decrease of an unconstrained step; 0 when there is none
  std::ptrdiff_t unit;        // -1 when there is none
};

// Four rows at a time: gradient += sum_r weights[r] * rows[r].
template <class Real>
struct RowBlock {
  const Real* rows[4];
  double weights[4];
};

Extremes step_and_scan(const Segment& segment, const GradientStep<double>& step);
Extremes step_and_scan(const Segment& segment, const GradientStep<float>& step);

Partner best_partner(const Segment& segment, const PartnerQuery<double>& query);
Partner best_partner(const Segment& segment, const PartnerQuery<float>& query);

void add_rows(const Segment& segment, const RowBlock<double>& block);
void add_rows(const Segment& segment, const RowBlock<float>& block);

}  // namespace bagshift
