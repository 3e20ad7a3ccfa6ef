// SPDX-License-Identifier: BSD-3-Clause
#include "coordinate_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace bagshift {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Couplings beyond tie the machines, or part them, to within rounding.
constexpr double kTied = 1e15;

// The charge rho, from W, the summed widths of boxes, and the mean of |x - m|^2. Found by trying:
// steps are short when 1 / rho is large against a length, levels slow when rho is against W.
constexpr double kOfBoth = 0.7;     // times sqrt(W / length)
constexpr double kOfWidths = 0.2;  // times W, at most

// Epochs between looks, as a part of those done: by default, and when the gap seems small.
constexpr std::int64_t kSeldom = 4, kOften = 16;
// Sums of z x are made anew after so many epochs, against rounding.
constexpr std::int64_t kBetweenRebuilds = 64;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) total += a[j] * b[j];
  return total;
}

double stiffness_of(const DescentDomain& domain) {
  const double size = domain.size();
  const double length = size > 0.0 ? domain.mean_length() : 0.0;
  const double of_both = length > 0.0 ? kOfBoth * std::sqrt(size / length) : kInfinity;
  return std::min(kOfWidths * size, of_both);
}

// The part of the way from a dual sum to another one on which a corner is reached.
double part_of_way(double dual_sum, double wanted, double at_corner) {
  return dual_sum == wanted ? 0.0 : std::min(1.0, (dual_sum - wanted) / (dual_sum - at_corner));
}

}  // namespace

CoordinateDescent::CoordinateDescent(DescentDomain* source, DescentDomain& target, double coupling,
                                     std::uint64_t seed)
    : domains_{source, &target},
      n_features_(target.n_features()),
      coupling_(!source || coupling < 1.0 / kTied ? 0.0 : coupling > kTied ? kInfinity : coupling),
      across_(coupling_ > 0.0 ? 1.0 / (2.0 + 1.0 / coupling_) : 0.0),
      draws_(seed),
      mean_(static_cast<std::size_t>(n_features_), 0.0),
      weights_(mean_.size()) {
  within_ = 1.0 - across_;
  for (auto& sum : sums_) sum.assign(mean_.size(), 0.0);
  solution_.objective = kInfinity;
  solution_.dual_objective = -kInfinity;
}

bool CoordinateDescent::start(const double* source_dual, const double* target_dual) {
  double size = 0.0;
  for (DescentDomain* domain : domains_) {
    if (!domain) continue;
    domain->find_corners();
    size += domain->size();
  }
  for (DescentDomain* domain : domains_) {
    for (std::size_t j = 0; domain && size > 0.0 && j < mean_.size(); ++j) {
      mean_[j] += (domain->upper().sum[j] - domain->lower().sum[j]) / size;
    }
  }
  mean_square_ = dot(mean_, mean_);
  if (!std::isfinite(mean_square_)) return false;
  for (int p : {0, 1}) {
    if (!domains_[p]) continue;
    if (!domains_[p]->measure(mean_, mean_square_)) return false;
    domains_[p]->set_dual(p == 0 ? source_dual : target_dual);
    domains_[p]->add_up({{&DescentUnit::dual, sums_[p].data()}});
  }
  set_metric();
  for (int p : {0, 1}) {
    if (!domains_[p]) continue;
    mix(p, weights_);
    centres_[p] = domains_[p]->balanced_level(weights_.data()) + dot(weights_, mean_);
  }
  return true;
}

// Charges, and what follows from them: the forms of the header.
void CoordinateDescent::set_metric() {
  for (int p : {0, 1}) stiffness_[p] = domains_[p] ? stiffness_of(*domains_[p]) : 0.0;
  for (int p : {0, 1}) {
    // Without costs a domain moves with the other one, if at all.
    if (stiffness_[p] == 0.0) stiffness_[p] = stiffness_[1 - p];
    if (stiffness_[p] == 0.0) stiffness_[p] = 1.0;
  }
  // Written in 1 / lambda, which may be zero.
  const double rigidity = coupling_ > 0.0 ? 1.0 / coupling_ : 0.0;
  const double n = mean_square_, apart = coupling_ > 0.0 ? rigidity / (2.0 + rigidity) : 1.0;
  lean_ = coupling_ > 0.0 ? 1.0 / (rigidity + 2.0 + 2.0 * n) : 0.0;
  const auto [h, c] = std::pair(stiffness_[0], stiffness_[1]);
  if (coupling_ > 0.0) {
    const double give = rigidity * (rigidity + 2.0 + 2.0 * n) / (2.0 * (rigidity + 2.0));  // 1 / l
    const double all = h * c * give + 0.5 * (h + c);
    slack_[0][0] = (c * give + 0.5) / all;
    slack_[1][1] = (h * give + 0.5) / all;
    slack_[0][1] = slack_[1][0] = 0.5 / all;
  } else {
    slack_[0][0] = 1.0 / h;
    slack_[1][1] = 1.0 / c;
    slack_[0][1] = slack_[1][0] = 0.0;
  }
  for (int p : {0, 1}) {
    for (int q : {0, 1}) {
      const double(*s)[2] = slack_;
      // Pulls (1 + g a, -g a): in (a, 1), g times (1, -1) and a one.
      const double lean_p = s[p][q] - s[1 - p][q], lean_q = s[p][q] - s[p][1 - q];
      const double both = lean_p - (s[p][1 - q] - s[1 - p][1 - q]);
      const double sign = p == q ? -1.0 : 1.0, weight = p == q ? within_ : across_;
      AlongForm& form = centred_[p][q];
      form = {lean_ * (lean_ * both + sign * apart), lean_ * lean_p, lean_ * lean_q, s[p][q]};
      raw_[p][q] = {form.along_along, form.along_one - weight, form.one_along - weight,
                    form.one_one - weight * n};
    }
    if (domains_[p]) domains_[p]->set_curvatures(within_, centred_[p][p]);
  }
}

AlongTerms CoordinateDescent::pull_of_centres(int p) const {
  double levels[2];
  for (int k : {0, 1}) {
    levels[k] = slack_[k][0] * stiffness_[0] * centres_[0] +
                slack_[k][1] * stiffness_[1] * centres_[1];
  }
  return {lean_ * (levels[p] - levels[1 - p]), levels[p]};
}

// What the scores of a domain owe to the other one and to the centres.
AlongTerms CoordinateDescent::others(int p) const {
  AlongTerms terms = pull_of_centres(p);
  if (const DescentDomain* other = domains_[1 - p]) {
    const AlongForm& form = raw_[p][1 - p];
    terms.along += form.along_along * other->along_sum() + form.along_one * other->dual_sum();
    terms.level += form.one_along * other->along_sum() + form.one_one * other->dual_sum();
  }
  return terms;
}

// The score at the mean row.
double CoordinateDescent::level(int p) const {
  double total = pull_of_centres(p).level;
  for (int q : {0, 1}) {
    if (!domains_[q]) continue;
    total += centred_[p][q].one_along * domains_[q]->along_sum() +
             centred_[p][q].one_one * domains_[q]->dual_sum();
  }
  return total;
}

void CoordinateDescent::mix(int p, std::vector<double>& weights) const {
  const std::vector<double>&own = sums_[p], &other = sums_[1 - p];
  for (std::size_t j = 0; j < own.size(); ++j) weights[j] = within_ * own[j] + across_ * other[j];
}

void CoordinateDescent::pass(int p) {
  if (!domains_[p]) return;
  mix(p, weights_);
  domains_[p]->pass(weights_.data(), within_, raw_[p][p], others(p), draws_);
  std::vector<double>&own = sums_[p], &other = sums_[1 - p];
  for (std::size_t j = 0; j < own.size(); ++j) own[j] = (weights_[j] - across_ * other[j]) / within_;
}

bool CoordinateDescent::advance(double tol) {
  for (int p : {0, 1}) pass(p);
  const double levels[2] = {level(0), level(1)};
  double gap = 0.0;
  bool is_outdated = false;
  for (int p : {0, 1}) {
    if (!domains_[p]) continue;
    domains_[p]->note_drift(levels[p] - centres_[p]);
    centres_[p] = levels[p];
    gap += domains_[p]->estimated_gap();
    is_outdated |= domains_[p]->is_outdated(levels[p] - levels_seen_[p]);
  }
  const std::int64_t n = ++solution_.n_epochs;
  const bool seems_small = gap <= tol * solution_.objective;
  return is_outdated || gap == 0.0 || n - last_look_ > n / (seems_small ? kOften : kSeldom);
}

// --- certificate ----------------------------------------------------------------------------

bool CoordinateDescent::look(double tol) {
  last_look_ = solution_.n_epochs;
  for (int p : {0, 1}) levels_seen_[p] = level(p);
  if (last_look_ - last_rebuild_ >= kBetweenRebuilds) {
    last_rebuild_ = last_look_;
    for (int p : {0, 1}) {
      std::fill(sums_[p].begin(), sums_[p].end(), 0.0);
      if (domains_[p]) domains_[p]->add_up({{&DescentUnit::dual, sums_[p].data()}});
    }
  }
  set_machines(machines_);
  const double objective = primal(machines_);
  solution_.dual_objective = std::max(solution_.dual_objective, dual());
  if (objective < solution_.objective) {
    solution_.objective = objective;
    std::swap(solution_.machines[0], machines_[0]);
    std::swap(solution_.machines[1], machines_[1]);
  }
  return solution_.objective - solution_.dual_objective <= tol * solution_.objective;
}

void CoordinateDescent::set_machines(DescentMachine* machines) const {
  for (int p : {0, 1}) {
    const DescentDomain* domain = domains_[p];
    AlongTerms terms = others(p);
    if (domain) {
      const AlongForm& form = raw_[p][p];
      terms.along += form.along_along * domain->along_sum() + form.along_one * domain->dual_sum();
      terms.level += form.one_along * domain->along_sum() + form.one_one * domain->dual_sum();
    }
    machines[p].weights.resize(mean_.size());
    mix(p, machines[p].weights);
    for (std::size_t j = 0; j < mean_.size(); ++j) {
      machines[p].weights[j] += terms.along * mean_[j];
    }
    machines[p].intercept = terms.level - terms.along * mean_square_;
  }
  // One machine, or the same: in every digit.
  if (!domains_[0] || coupling_ == kInfinity) machines[0] = machines[1];
}

double CoordinateDescent::primal(const DescentMachine* machines) {
  double total = regulariser(machines);
  for (int p : {0, 1}) {
    if (domains_[p]) {
      total += domains_[p]->look(machines[p].weights.data(), machines[p].intercept);
    }
  }
  return total;
}

double CoordinateDescent::regulariser(const DescentMachine* machines) const {
  const std::vector<double>&h = machines[0].weights, &c = machines[1].weights;
  if (!domains_[0]) return 0.5 * dot(c, c);
  const double total = 0.5 * dot(h, h) + 0.5 * dot(c, c);
  if (coupling_ == 0.0 || coupling_ == kInfinity) return total;
  const double shift = machines[1].intercept - machines[0].intercept;
  double distance = shift * shift;
  for (std::size_t j = 0; j < h.size(); ++j) distance += (c[j] - h[j]) * (c[j] - h[j]);
  return total + 0.5 * coupling_ * distance;
}

// A lower bound: the dual objective at z moved towards corners of the boxes, just as far as the
// conditions of the intercepts ask for.
double CoordinateDescent::dual() const {
  double wanted = 0.0;   // sum of z over the source
  if (domains_[0]) {
    const DescentDomain &h = *domains_[0], &c = *domains_[1];
    wanted = coupling_ < 1.0 ? coupling_ * (machines_[0].intercept - machines_[1].intercept)
                             : 0.5 * (h.dual_sum() - c.dual_sum());
    wanted = std::max({wanted, h.lower().dual_sum, -c.upper().dual_sum});
    wanted = std::min({wanted, h.upper().dual_sum, -c.lower().dual_sum});
  }
  double total = coupling_ > 0.0 ? -0.5 * wanted * wanted / coupling_ : 0.0;
  std::vector<double> sums[2];
  for (int p : {0, 1}) {
    sums[p] = sums_[p];
    if (!domains_[p]) continue;
    const DescentDomain& domain = *domains_[p];
    const double sum = domain.dual_sum(), goal = p == 0 ? wanted : -wanted;
    const Corner& corner = sum > goal ? domain.lower() : domain.upper();
    const double part = part_of_way(sum, goal, corner.dual_sum);
    for (std::size_t j = 0; j < mean_.size(); ++j) {
      sums[p][j] += part * (corner.sum[j] - sums[p][j]);
    }
    // Concave in z, so no more than what is reached there.
    total += (1.0 - part) * domain.reached() + part * corner.reached;
  }
  return total - 0.5 * within_ * (dot(sums[0], sums[0]) + dot(sums[1], sums[1])) -
         across_ * dot(sums[0], sums[1]);
}

}  // namespace bagshift
