// SPDX-License-Identifier: BSD-3-Clause
//
// The coupled problem on explicit features by dual coordinate descent. Two machines with weights w
// and intercept b, of source (h) and target (c) units, minimise
//
//     1/2 |w_h|^2 + 1/2 |w_c|^2 + lambda/2 (|w_c - w_h|^2 + (b_c - b_h)^2) + sum of losses,
//
// where a unit at residual r = t - w.x - b loses the most of z r - e |z| over z in [L, U]. The dual
// variables are these z. A pass over the units of one domain in random order finds the best z of
// each unit in turn (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008). It needs and moves the weights
// of that domain alone, so a step costs two walks along a row; the other machine follows at the
// end of the pass.
//
// Intercepts. In the dual their condition is sum z = 0, which steps in one variable cannot keep. So
// both domains are charged, in each epoch, rho/2 (b + w.m - c)^2 for moving the score at the mean
// row m of all units away from what it was, c (the method of multipliers). At the solution nothing
// moves, and nothing is charged. To charge the score at m, and not b, is to work on centred rows:
// how far features are from zero does not matter. Rows are never centred, though. With N = |m|^2
// and a = m.(x - m), all that differs from x.x' is a quadratic form in (a, 1), and the machines are
//
//     w_p = within u_p + across u_q + (a number) m,    u = sum of z x over the units of a domain.
//
// In detail, with levels b' = b + w.m, a source unit pulls levels (h, c) by z (1 + g a, -g a), a
// target unit by z (-g a, 1 + g a), where g = lambda / (1 + 2 lambda + 2 lambda N). What holds the
// levels is diag(rho) + l/2 (1, -1)(1, -1)' with l = 2 lambda (1 + 2 lambda) / (1 + 2 lambda +
// 2 lambda N), and units of the same (different) domain have -(+) a a' g / (1 + 2 lambda) besides.
//
// This header and its source know nothing of Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "descent_domain.hpp"

namespace bagshift {

struct DescentMachine {
  std::vector<double> weights;
  double intercept = 0.0;
};

// The best of what was seen at looks.
struct DescentSolution {
  DescentMachine machines[2];   // source, target
  double objective;
  double dual_objective;
  std::int64_t n_epochs = 0;
};

class CoordinateDescent {
 public:
  // Domains must be sound; `source` may be null, and `coupling` is from 0 to infinity.
  CoordinateDescent(DescentDomain* source, DescentDomain& target, double coupling,
                    std::uint64_t seed);

  // Begin from dual variables (nullptr: zero). False: features are too large to work with.
  bool start(const double* source_dual, const double* target_dual);
  // Run an epoch; whether it is time for a look.
  bool advance(double tol);
  // Compute objectives; whether the gap is at most `tol` times the objective.
  bool look(double tol);

  const DescentSolution& solution() const { return solution_; }

 private:
  void set_metric();
  AlongTerms pull_of_centres(int p) const;
  AlongTerms others(int p) const;
  double level(int p) const;
  void mix(int p, std::vector<double>& weights) const;
  void pass(int p);
  void set_machines(DescentMachine* machines) const;
  double primal(const DescentMachine* machines);
  double regulariser(const DescentMachine* machines) const;
  double dual() const;

  DescentDomain* domains_[2];
  std::ptrdiff_t n_features_;
  double coupling_, within_, across_;
  Draws draws_;
  std::vector<double> mean_;
  double mean_square_ = 0.0;
  double stiffness_[2] = {1.0, 1.0};     // rho
  double centres_[2] = {0.0, 0.0};       // c
  double levels_seen_[2] = {0.0, 0.0};   // at the last look
  double slack_[2][2];                   // levels per pull: inverse of what holds them
  double lean_;                          // g
  AlongForm centred_[2][2], raw_[2][2];  // beside (x - m).(x' - m), and beside x.x'
  std::vector<double> sums_[2];          // u
  std::vector<double> weights_;
  DescentMachine machines_[2];
  DescentSolution solution_;
  std::int64_t last_look_ = 0, last_rebuild_ = 0;
};

}  // namespace bagshift
