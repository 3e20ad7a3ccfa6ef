// SPDX-License-Identifier: BSD-3-Clause
//
// The solver of the coupled program: sequential minimal optimisation (SMO), and now and then
// Newton's method on the free variables. SMO finds which variables are free, at a little cost a
// step; once they are nearly right, Newton's method is done where SMO would zigzag for very long.
//
// Newton's method may find nothing to gain. What bounds the loss is a budget: iterations of SMO
// give credit, of which the cost of every call is taken; once a call has come to its end, it is
// worth more than they are. And there is none when violations fall so fast that SMO will be done
// before.
#pragma once

#include <cstdint>

#include "active_set_newton.hpp"
#include "coupled_qp.hpp"

namespace bagshift {

template <class Real>
class CoupledSolver {
 public:
  CoupledSolver(const Problem<Real>& problem, const Options& options, NewtonMemory& memory)
      : problem_(problem), options_(options), memory_(memory) {}

  // Begin from `guess` (nullptr: zero); near the solution, a guess is worth a call of Newton's
  // method at once.
  void start(const double* guess);

  // The same from a solution of a problem alike; see `bagshift::start_from`.
  void start_from(State earlier, const Problem<Real>& earlier_problem, double factor);

  // Run about `n_steps` iterations.
  Status advance(std::int64_t n_steps);

  const State& state() const { return state_; }
  State& state() { return state_; }
  std::int64_t n_newton() const { return n_newton_; }

 private:
  std::ptrdiff_t count_free() const;
  bool is_nearly_done(double cost) const;
  void begin(bool has_guess);
  void call_newton(double budget);

  Problem<Real> problem_;
  Options options_;
  NewtonMemory& memory_;
  State state_;
  std::int64_t n_newton_ = 0;
  double credit_ = 0.0;              // what may be spent on Newton's method, in iterations
  double credit_rate_ = 1.0;         // credit for an iteration
  std::int64_t burst_ = 0;           // iterations until the next look
  double violation_before_ = 0.0;    // at the beginning of the last burst
  std::int64_t last_burst_ = 0;
  double violation_at_call_ = 0.0;   // at the last call
};

}  // namespace bagshift
