// SPDX-License-Identifier: BSD-3-Clause
//
// Vectorised passes over the arrays of a state that are not part of every iteration: sums, the
// free units, the gradient's rows, and what a certificate of optimality is made of.
#pragma once

#include <cstddef>

#include "smo_passes.hpp"

namespace bagshift {

// A sum to the last bits (Knuth's compensated sum): by it the equality constraint is judged.
double exact_sum(const double* values, std::ptrdiff_t n);

double largest_size(const double* values, std::ptrdiff_t n);

// Of a free unit, strictly inside its box and not at the kink of a tube, the slopes up and down
// are the same: the two offsets are.
std::ptrdiff_t count_free(const double* up_offset, const double* down_offset, std::ptrdiff_t n);

// Four rows at a time: values += sum_r weights[r] * rows[r].
template <class Real>
struct RowBlock {
  const Real* rows[4];
  PerDomain weights[4];
};

void add_rows(const RowBlock<double>& block, std::ptrdiff_t n_source, std::ptrdiff_t n_units,
              double* values);
void add_rows(const RowBlock<float>& block, std::ptrdiff_t n_source, std::ptrdiff_t n_units,
              double* values);

// A solution, and the program it belongs to, as arrays over units.
struct Point {
  const double* dual;
  const double* gradient;     // without the rank-one term
  const double* up_offset;
  const double* down_offset;
  const double* targets;
  const double* half_widths;
  const double* lower;
  const double* upper;
  std::ptrdiff_t n_source;
  std::ptrdiff_t n_units;
  double source_shift;        // added to all slopes of source units
};

// What the slopes leave to the intercept b: a unit that can rise needs slope + b >= 0, one that
// can fall slope + b <= 0, a free one both.
struct Limits {
  double low;                 // -kBlocked when no unit can rise
  double high;                // kBlocked when none can fall
  double free_sum;            // of the intercepts that free units want
  std::ptrdiff_t n_free;
};

Limits intercept_limits(const Point& point);

struct Sums {
  double quadratic;           // z'Q z without the rank-one term
  double linear;              // sum_i e_i |z_i| - t_i z_i
  double loss;                // of the primal at this intercept
  double gap;                 // unit by unit, each term non-negative
};

Sums objective_sums(const Point& point, double intercept);

}  // namespace bagshift
