#include "resample/taps.h"

#include <algorithm>
#include <cmath>

// The arithmetic follows Pillow's Resample.c operation by operation, in double precision and in its order: one other
// rounding would change a weight, and with it a pixel. The build forbids fused multiply-add for the same reason.

namespace headrace {
namespace {

double bilinear_weight(double x) {
  x = std::fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

// Cubic convolution with a = -1/2 (Keys 1981).
double bicubic_weight(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

// Geometry of one axis: an output pixel lies at (index + 1/2) * scale and sees `support` input pixels to each side.
struct Axis {
  int in_size;
  double scale;
  double filter_scale;
  double support;

  Axis(int in, int out, Filter filter)
      : in_size(in),
        scale(static_cast<double>(in) / out),
        filter_scale(std::max(scale, 1.0)),
        support((filter == Filter::bicubic ? 2.0 : 1.0) * filter_scale) {}

  double center(int index) const { return (index + 0.5) * scale; }

  Span span(double center) const {
    return {std::max(static_cast<int>(center - support + 0.5), 0),
            std::min(static_cast<int>(center + support + 0.5), in_size)};
  }
};

int32_t to_fixed_point(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<int32_t>(weight < 0 ? -0.5 + scaled : 0.5 + scaled);
}

template <double (*Weight)(double)>
void fill_weights(const Axis& axis, Taps& taps, std::vector<double>& exact) {
  const double inverse = 1.0 / axis.filter_scale;
  for (int index = 0; index < taps.out_size; ++index) {
    const double center = axis.center(index);
    const int first = taps.first[index];
    int count = taps.count[index];
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
      exact[i] = Weight((i + first - center + 0.5) * inverse);
      sum += exact[i];
    }
    int32_t* weights = taps.weights.data() + static_cast<size_t>(index) * taps.stride;
    for (int i = 0; i < count; ++i) weights[i] = to_fixed_point(sum != 0.0 ? exact[i] / sum : exact[i]);
    std::fill(weights + count, weights + taps.stride, 0);
    while (count > 1 && weights[count - 1] == 0) --count;
    taps.count[index] = count;
  }
}

}  // namespace

Span tap_span(int in_size, int out_size, Filter filter, int index) {
  const Axis axis(in_size, out_size, filter);
  return axis.span(axis.center(index));
}

void make_taps(int in_size, int out_size, Filter filter, Taps& taps) {
  const Axis axis(in_size, out_size, filter);
  taps.in_size = in_size;
  taps.out_size = out_size;
  taps.filter = filter;
  taps.lanes_phase = -1;
  taps.first.resize(out_size);
  taps.count.resize(out_size);
  int largest = 0;
  for (int index = 0; index < out_size; ++index) {
    const Span span = axis.span(axis.center(index));
    taps.first[index] = span.first;
    taps.count[index] = span.last - span.first;
    largest = std::max(largest, taps.count[index]);
  }
  taps.stride = (largest + 1) & ~1;
  taps.weights.resize(static_cast<size_t>(out_size) * taps.stride);
  thread_local std::vector<double> exact;
  if (exact.size() < static_cast<size_t>(largest)) exact.resize(largest);
  if (filter == Filter::bicubic) {
    fill_weights<bicubic_weight>(axis, taps, exact);
  } else {
    fill_weights<bilinear_weight>(axis, taps, exact);
  }
}

}  // namespace headrace
