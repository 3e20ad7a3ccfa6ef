// SPDX-License-Identifier: BSD-3-Clause
//
// What the parts of the fuzz target share: a problem is read from bytes, and what comes out of the
// core has to keep its promises.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fuzz {

// Numbers from bytes; zeros when the bytes have run out.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::uint8_t byte() { return next_ < size_ ? data_[next_++] : std::uint8_t{0}; }

  // From 0 to n - 1, for n up to 65536.
  int below(int n) {
    const int high = n > 256 ? 256 * byte() : 0;
    return (high + byte()) % n;
  }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool one_in(int n) { return below(n) == 0; }
  double unit() { return (256.0 * byte() + byte()) / 65536.0; }
  double power_of_ten(int least, int most) { return std::pow(10.0, between(least, most)); }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t next_ = 0;
};

// A promise that was not kept ends the program.
[[noreturn]] void broken(const char* file, int line, const char* promise, double a, double b);

void fuzz_coupled(Bytes& bytes);
void fuzz_chain(Bytes& bytes);
void fuzz_counts(Bytes& bytes);
void fuzz_descent(Bytes& bytes);
void fuzz_exponential(Bytes& bytes);

}  // namespace fuzz

#define PROMISE(condition) \
  if (!(condition)) fuzz::broken(__FILE__, __LINE__, #condition, 0.0, 0.0)

// a <= b; false for NaN.
#define AT_MOST(a, b) \
  if (!((a) <= (b))) fuzz::broken(__FILE__, __LINE__, #a " <= " #b, (a), (b))
