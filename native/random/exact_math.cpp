#include "random/exact_math.h"

#include <bit>
#include <cstdint>

namespace headrace {
namespace {

constexpr double kLog2E = 1.4426950408889634;
// ln 2 in two parts: the upper one has 32 bits, so that its product with a whole number under 2^20 is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
// 1/k!, highest first: the Taylor series of e^r to r^13; for |r| <= ln(2)/2 the rest is under 2^-57.
constexpr double kCoefficients[] = {1.0 / 6227020800.0,
                                    1.0 / 479001600.0,
                                    1.0 / 39916800.0,
                                    1.0 / 3628800.0,
                                    1.0 / 362880.0,
                                    1.0 / 40320.0,
                                    1.0 / 5040.0,
                                    1.0 / 720.0,
                                    1.0 / 120.0,
                                    1.0 / 24.0,
                                    1.0 / 6.0,
                                    1.0 / 2.0,
                                    1.0,
                                    1.0};

// 2^exponent for a normal result.
double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

}  // namespace

double round_half_even(double x) {
  // Adding 1.5 * 2^52 leaves no bits for the fraction; the addition itself rounds halves to even.
  constexpr double kShift = 6755399441055744.0;
  return (x + kShift) - kShift;
}

double exact_exp(double x) {
  const double whole = round_half_even(x * kLog2E);
  const double rest = (x - whole * kLn2High) - whole * kLn2Low;
  double sum = 0.0;
  for (const double coefficient : kCoefficients) sum = sum * rest + coefficient;
  return sum * power_of_two(static_cast<int>(whole));
}

}  // namespace headrace
