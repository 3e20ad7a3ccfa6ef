// SPDX-License-Identifier: BSD-3-Clause
//
// Compiled without contraction into fused multiply-adds and with sums in a fixed order of lanes,
// so that every instruction set gives the same bits. Infinities and NaN keep their meaning.
#include "count_passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "multiversion.hpp"

namespace bagshift {
namespace {

// Mass beyond exp(-kTail) of a distribution is left out.
constexpr double kTail = 38.0;

// Rows are taken out in blocks that stay in the first cache.
constexpr std::ptrdiff_t kRowBlock = 256;

// exp(x) for -708 <= x <= 0, to about one unit in the last place: x = k log 2 + r with
// |r| <= log(2) / 2, the Taylor polynomial of r, and k added to the exponent.
BAGSHIFT_INLINE double exp_negative(double x) {
  constexpr double kShifter = 6755399441055744.0;  // 1.5 * 2^52: rounds, and keeps k in low bits
  const double shifted = x * 1.4426950408889634 + kShifter;
  const double k = shifted - kShifter;
  const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  const double r2 = r * r;
  const double r4 = r2 * r2;
  const double low = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  const double middle = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const double high = (1.0 / 40320 + r * (1.0 / 362880)) +
                      r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) + r4 * (1.0 / 479001600);
  const double value = low + r4 * (middle + r4 * high);
  std::int64_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = static_cast<std::int64_t>((static_cast<std::uint64_t>(bits) + 1023u) << 52);
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return value * power;
}

BAGSHIFT_INLINE void tilt_lanes(const double* scores, double theta, double* success,
                                double* failure, double* ratio, double* mean, double* variance) {
#pragma omp simd
  for (std::ptrdiff_t l = 0; l < kLanes; ++l) {
    const double y = scores[l] + theta;
    const double distance = std::fabs(y);
    const bool is_certain = distance > kCertain;
    const double e = is_certain ? 0.0 : exp_negative(is_certain ? 0.0 : -distance);
    const double major = 1.0 / (1.0 + e);
    const double minor = e * major;
    const double s = y > 0.0 ? major : minor;
    success[l] = s;
    failure[l] = y > 0.0 ? minor : major;
    ratio[l] = e;
    mean[l] += s;
    variance[l] += major * minor;
  }
}

// Coefficients of the product of kGroup factors (q + s z).
BAGSHIFT_INLINE void group_factor(const double* s, const double* q, double* factor) {
  const double a0 = q[0] * q[1], a1 = q[0] * s[1] + s[0] * q[1], a2 = s[0] * s[1];
  const double b0 = q[2] * q[3], b1 = q[2] * s[3] + s[2] * q[3], b2 = s[2] * s[3];
  factor[0] = a0 * b0;
  factor[1] = a0 * b1 + a1 * b0;
  factor[2] = (a0 * b2 + a2 * b0) + a1 * b1;
  factor[3] = a1 * b2 + a2 * b1;
  factor[4] = a2 * b2;
}

// out[k] = sum_i factor[i] in[k - i] for k < width, a multiple of kLanes.
BAGSHIFT_INLINE void convolve(const double* BAGSHIFT_RESTRICT in, const double* factor,
                              std::ptrdiff_t width, double* BAGSHIFT_RESTRICT out) {
  const double c0 = factor[0], c1 = factor[1], c2 = factor[2], c3 = factor[3], c4 = factor[4];
#pragma omp simd
  for (std::ptrdiff_t k = 0; k < width; ++k) {
    out[k] = ((c0 * in[k] + c1 * in[k - 1]) + (c2 * in[k - 2] + c3 * in[k - 3])) + c4 * in[k - 4];
  }
  for (std::ptrdiff_t k = width; k < width + 2 * kLanes; ++k) out[k] = 0.0;
}

}  // namespace

double half_width(double variance) {
  return kTail / 3.0 + std::sqrt(kTail * kTail / 9.0 + 2.0 * kTail * variance);
}

std::size_t window_size(double variance) {
  return static_cast<std::size_t>(2.0 * half_width(variance)) + 6 * kLanes;
}

BAGSHIFT_MULTIVERSION
Moments tilt_rows(const double* scores, std::ptrdiff_t n, double theta, const Rows& rows) {
  double mean[kLanes] = {}, variance[kLanes] = {};
  std::ptrdiff_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    tilt_lanes(scores + j, theta, rows.success + j, rows.failure + j, rows.ratio + j, mean,
               variance);
  }
  if (j < n) {
    double rest[kLanes];
    for (std::ptrdiff_t l = 0; l < kLanes; ++l) {
      rest[l] = j + l < n ? scores[j + l] : -2.0 * kCertain - theta;
    }
    tilt_lanes(rest, theta, rows.success + j, rows.failure + j, rows.ratio + j, mean, variance);
  }
  return {sum_lanes(mean), sum_lanes(variance)};
}

BAGSHIFT_MULTIVERSION
double log_excess(const double* ratio, std::ptrdiff_t n_padded) {
  // prod (1 + e) - 1 as a sum of positive terms; 512 factors of a lane stay below 2^512.
  constexpr std::ptrdiff_t kBlock = 512 * kLanes;
  double total = 0.0;
  for (std::ptrdiff_t start = 0; start < n_padded; start += kBlock) {
    const std::ptrdiff_t stop = std::min(start + kBlock, n_padded);
    double excess[kLanes] = {};
    for (std::ptrdiff_t j = start; j < stop; j += kLanes) {
#pragma omp simd
      for (std::ptrdiff_t l = 0; l < kLanes; ++l) {
        excess[l] += ratio[j + l] + ratio[j + l] * excess[l];
      }
    }
    if (stop - start <= 64 * kLanes) {
      for (std::ptrdiff_t l = 1; l < kLanes; ++l) excess[0] += excess[l] + excess[l] * excess[0];
      total += std::log1p(excess[0]);
    } else {
      for (std::ptrdiff_t l = 0; l < kLanes; ++l) total += std::log1p(excess[l]);
    }
  }
  return total;
}

BAGSHIFT_MULTIVERSION
double hinge_difference(const double* scores, std::ptrdiff_t n, double theta) {
  // In this form nothing is lost where score and score + theta have one sign.
  const auto difference = [theta](double score) {
    const double other = score > 0.0 ? -score : score + theta;
    const double bound = score > 0.0 ? theta : 0.0;
    return other > bound ? other : bound;
  };
  double sums[kLanes] = {};
  std::ptrdiff_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
#pragma omp simd
    for (std::ptrdiff_t l = 0; l < kLanes; ++l) sums[l] += difference(scores[j + l]);
  }
  for (std::ptrdiff_t l = 0; j < n; ++j, ++l) sums[l] += difference(scores[j]);
  return sum_lanes(sums);
}

BAGSHIFT_MULTIVERSION
Range score_range(const double* scores, std::ptrdiff_t n) {
  double least[kLanes], most[kLanes];
  for (std::ptrdiff_t l = 0; l < kLanes; ++l) least[l] = most[l] = scores[0];
  std::ptrdiff_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
#pragma omp simd
    for (std::ptrdiff_t l = 0; l < kLanes; ++l) {
      least[l] = scores[j + l] < least[l] ? scores[j + l] : least[l];
      most[l] = scores[j + l] > most[l] ? scores[j + l] : most[l];
    }
  }
  for (; j < n; ++j) {
    least[0] = std::min(least[0], scores[j]);
    most[0] = std::max(most[0], scores[j]);
  }
  return {*std::min_element(least, least + kLanes), *std::max_element(most, most + kLanes)};
}

BAGSHIFT_MULTIVERSION
void tilt_weights(const double* log_weights, std::ptrdiff_t n, double theta, double level,
                  double* weights) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double below = (log_weights[i] - theta * static_cast<double>(i)) - level;
    const bool counts = below > -kCertain;
    const double value = exp_negative(counts && below < 0.0 ? below : 0.0);
    weights[i] = counts ? value : 0.0;
  }
}

BAGSHIFT_MULTIVERSION
Window sum_distribution(const Rows& rows, std::ptrdiff_t n_padded, std::ptrdiff_t highest,
                        double* buffer, double* other) {
  for (std::ptrdiff_t k = 0; k < 4 * kLanes; ++k) buffer[k] = 0.0;
  for (std::ptrdiff_t k = 0; k < kLanes; ++k) other[k] = 0.0;
  double* present = buffer + kLanes;
  double* next = other + kLanes;
  present[0] = 1.0;
  std::ptrdiff_t first = 0, last = 0;
  double mean = 0.0, variance = 0.0;
  for (std::ptrdiff_t j = 0; j < n_padded; j += kGroup) {
    const double* s = rows.success + j;
    const double* q = rows.failure + j;
    double factor[kGroup + 1];
    group_factor(s, q, factor);
    last = std::min(last + kGroup, highest);
    std::ptrdiff_t shift = 0;
    if (n_padded > 4 * kLanes) {  // below, the band holds every count
      mean += (s[0] + s[1]) + (s[2] + s[3]);
      variance += (s[0] * q[0] + s[1] * q[1]) + (s[2] * q[2] + s[3] * q[3]);
      const double reach = half_width(variance);
      const auto lowest = static_cast<std::ptrdiff_t>(std::max(mean - reach, 0.0));
      shift = std::clamp<std::ptrdiff_t>(lowest - first, 0, kGroup);
      last = std::min(last, static_cast<std::ptrdiff_t>(mean + reach) + 1);
    }
    first += shift;
    convolve(present + shift, factor, padded(last - first + 1), next);
    std::swap(present, next);
  }
  return {present, first, last - first + 1};
}

BAGSHIFT_MULTIVERSION
void take_out(const double* p, std::ptrdiff_t n_counts, const double* ratio,
              std::ptrdiff_t n_padded, double* rest) {
  const std::ptrdiff_t begin = -((4 - n_counts % 4) % 4);
  for (std::ptrdiff_t start = 0; start < n_padded; start += kRowBlock) {
    const std::ptrdiff_t n = std::min(kRowBlock, n_padded - start);
    const double* BAGSHIFT_RESTRICT e = ratio + start;
    double* BAGSHIFT_RESTRICT left = rest + start;
    for (std::ptrdiff_t l = 0; l < n; ++l) left[l] = 0.0;
    for (std::ptrdiff_t i = begin; i < n_counts; i += 4) {
      const double p0 = p[i], p1 = p[i + 1], p2 = p[i + 2], p3 = p[i + 3];
#pragma omp simd
      for (std::ptrdiff_t l = 0; l < n; ++l) {
        left[l] = p3 - e[l] * (p2 - e[l] * (p1 - e[l] * (p0 - e[l] * left[l])));
      }
    }
  }
}

BAGSHIFT_MULTIVERSION
void take_out_weighted(const double* p, const double* weights, std::ptrdiff_t n_counts,
                       const double* ratio, std::ptrdiff_t n_padded, double* joint) {
  double rest[kRowBlock];
  for (std::ptrdiff_t start = 0; start < n_padded; start += kRowBlock) {
    const std::ptrdiff_t n = std::min(kRowBlock, n_padded - start);
    const double* BAGSHIFT_RESTRICT e = ratio + start;
    double* BAGSHIFT_RESTRICT sum = joint + start;
    for (std::ptrdiff_t l = 0; l < n; ++l) rest[l] = sum[l] = 0.0;
    for (std::ptrdiff_t i = 0; i < n_counts; ++i) {
      const double chance = p[i], weight = weights[i];
#pragma omp simd
      for (std::ptrdiff_t l = 0; l < n; ++l) {
        const double with_row = e[l] * rest[l];
        sum[l] += weight * with_row;
        rest[l] = chance - with_row;
      }
    }
  }
}

BAGSHIFT_MULTIVERSION
void characteristic_function(const Rows& rows, std::ptrdiff_t n_padded, const Nodes& nodes) {
  double* BAGSHIFT_RESTRICT real = nodes.real;
  double* BAGSHIFT_RESTRICT imaginary = nodes.imaginary;
  const double* c1 = nodes.cosine[0];
  const double* c2 = nodes.cosine[1];
  const double* c3 = nodes.cosine[2];
  const double* c4 = nodes.cosine[3];
  const double* s1 = nodes.sine[0];
  const double* s2 = nodes.sine[1];
  const double* s3 = nodes.sine[2];
  const double* s4 = nodes.sine[3];
  for (std::ptrdiff_t k = 0; k < nodes.n; ++k) {
    real[k] = 1.0;
    imaginary[k] = 0.0;
  }
  for (std::ptrdiff_t j = 0; j < n_padded; j += kGroup) {
    double f[kGroup + 1];
    group_factor(rows.success + j, rows.failure + j, f);
#pragma omp simd
    for (std::ptrdiff_t k = 0; k < nodes.n; ++k) {
      const double x = f[0] + ((f[1] * c1[k] + f[2] * c2[k]) + (f[3] * c3[k] + f[4] * c4[k]));
      const double y = (f[1] * s1[k] + f[2] * s2[k]) + (f[3] * s3[k] + f[4] * s4[k]);
      const double product = real[k] * x - imaginary[k] * y;
      imaginary[k] = real[k] * y + imaginary[k] * x;
      real[k] = product;
    }
  }
}

BAGSHIFT_MULTIVERSION
void fourier_sums(const double* weights, std::ptrdiff_t n, const Nodes& nodes,
                  double* BAGSHIFT_RESTRICT real, double* BAGSHIFT_RESTRICT imaginary) {
  const double* c = nodes.cosine[0];
  const double* s = nodes.sine[0];
  for (std::ptrdiff_t k = 0; k < nodes.n; ++k) real[k] = imaginary[k] = 0.0;
  for (std::ptrdiff_t i = n - 1; i >= 0; --i) {
    const double weight = weights[i];
#pragma omp simd
    for (std::ptrdiff_t k = 0; k < nodes.n; ++k) {
      const double turned = real[k] * c[k] + imaginary[k] * s[k];
      imaginary[k] = imaginary[k] * c[k] - real[k] * s[k];
      real[k] = turned + weight;
    }
  }
}

BAGSHIFT_MULTIVERSION
void node_posterior(const Rows& rows, std::ptrdiff_t n_padded, const Nodes& nodes, double base,
                    double* joint) {
  for (std::ptrdiff_t start = 0; start < n_padded; start += kRowBlock) {
    const std::ptrdiff_t n = std::min(kRowBlock, n_padded - start);
    const double* BAGSHIFT_RESTRICT s = rows.success + start;
    const double* BAGSHIFT_RESTRICT q = rows.failure + start;
    double* BAGSHIFT_RESTRICT sum = joint + start;
    for (std::ptrdiff_t l = 0; l < n; ++l) sum[l] = base * s[l];
    // Padded to a multiple of kLanes: two nodes share one division.
    for (std::ptrdiff_t k = 0; k < nodes.n; k += 2) {
      const double g0 = nodes.gap[k], g1 = nodes.gap[k + 1];
      const double a0 = nodes.certain_weight[k], a1 = nodes.certain_weight[k + 1];
      const double b0 = nodes.mixed_weight[k], b1 = nodes.mixed_weight[k + 1];
#pragma omp simd
      for (std::ptrdiff_t l = 0; l < n; ++l) {
        const double certain = s[l] * s[l];
        const double mixed = s[l] * q[l];
        const double d0 = 1.0 - g0 * mixed, d1 = 1.0 - g1 * mixed;
        sum[l] += ((a0 * certain + b0 * mixed) * d1 + (a1 * certain + b1 * mixed) * d0) / (d0 * d1);
      }
    }
  }
}

}  // namespace bagshift
