// SPDX-License-Identifier: BSD-3-Clause
//
// The coupled quadratic program of two support vector machines, in signed dual variables z:
//
//     min_z  1/2 z'Qz - t'z + sum_i e_i |z_i|     s.t.  sum_i z_i = 0,  L <= z <= U
//
//     Q_ij = within * K_ij   for i, j of one domain  (+ 1/coupling when both are source units)
//     Q_ij = across * K_ij   otherwise
//
// K is the raw Gram matrix of the units, source units first; t the targets, e the half-widths of
// the tubes. Q is never formed, and the rank-one term 1/coupling enters through one number, the
// sum of the source variables. This is sequential minimal optimisation with second-order choice
// of the pair (Fan, Chen, Lin 2005) and an exact line search across the kinks of |z|; the solver
// in coupled_solver.hpp adds Newton's method to it.
//
// This header and its sources know nothing of Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bagshift {

template <class Real>
struct Problem {
  const Real* gram;            // row-major, symmetric
  std::ptrdiff_t row_stride;   // entries from one row to the next
  std::ptrdiff_t n_units;
  std::ptrdiff_t n_source;     // 0: one domain only, its weight is `within`
  const double* targets;
  const double* half_widths;
  const double* lower;         // <= 0
  const double* upper;         // >= 0
  double within;
  double across;
  double inverse_coupling;     // 1/coupling; 0 for infinite coupling and for one domain

  const Real* row(std::ptrdiff_t i) const { return gram + i * row_stride; }
  bool is_source(std::ptrdiff_t i) const { return i < n_source; }
  double weight(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return is_source(i) == is_source(j) ? within : across;
  }
};

struct Options {
  double tol = 1e-3;                // on the largest violation of optimality, in score units
  std::int64_t max_iter = 10000000;
  bool use_newton = true;           // see coupled_solver.hpp
};

enum class Status {
  running,          // the burst ended, nothing else happened
  optimal,          // violation below tol, on a gradient free of rounding that could matter
  iteration_limit,
  stalled,          // tol is finer than double precision resolves on this problem
};

// Everything an interrupted solve needs to go on. Made by `start`.
struct State {
  std::vector<double> dual;         // z
  std::vector<double> gradient;     // Qz - t without the rank-one term
  std::vector<double> up_offset;    // see Units
  std::vector<double> down_offset;
  std::vector<double> diagonal;     // within * K_ii
  double largest_diagonal = 0.0;
  double source_sum = 0.0;          // sum of z over the source units, known beyond the z's bits
  double violation = 0.0;           // largest slope down - smallest slope up; may be negative
  std::int64_t n_iter = 0;
  double gradient_size = 0.0;       // no entry of the gradient is larger
  double gradient_error = 0.0;      // of rounding since it was rebuilt from z, at most; 0: none
  int n_failed_checks = 0;
};

struct Solution {
  double intercept;             // of the target units (of all units when there is one domain)
  double intercept_low;         // every intercept in [low, high] is optimal
  double intercept_high;
  double intercept_shift;       // source intercept - target intercept
  double objective;             // primal
  double dual_objective;
  double dual_gap;
  double violation;             // >= 0
  double equality_residual;     // sum z
};

// Begin from `guess` (nullptr: zero), clipped into the box and moved onto sum z = 0.
template <class Real>
State start(const Problem<Real>& problem, const double* guess);

// Begin from the `earlier` solution of a problem that differs in coupling, and in its boxes by a
// common `factor`, finite. The gradient is carried over, which needs the rows of target units only.
template <class Real>
State start_from(const Problem<Real>& problem, State earlier,
                 const Problem<Real>& earlier_problem, double factor);

// Run at most `n_steps` iterations.
template <class Real>
Status advance(const Problem<Real>& problem, State& state, const Options& options,
               std::int64_t n_steps);

// Intercepts, objectives and duality gap of the present z, after `advance` returned anything but
// `running`.
template <class Real>
Solution summarise(const Problem<Real>& problem, const State& state);

}  // namespace bagshift
