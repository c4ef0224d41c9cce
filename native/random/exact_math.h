// Real functions from IEEE double operations alone, so that every machine, C++ and numpy agree to the last bit.
#pragma once

namespace headrace {

// e^x for |x| <= 700, error under 2 units in the last place. Twin of headrace._base.exact_math.exp.
double exact_exp(double x);

// The nearest integer, halves to even, for |x| < 2^51.
double round_half_even(double x);

}  // namespace headrace
