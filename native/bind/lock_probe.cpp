// How long other threads hold the GIL, as seen by one that wants it for a moment now and then.
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "bind/bind.h"
#include "bind/gil.h"

namespace nb = nanobind;

namespace headrace {
namespace {

int64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// Sleeps without the GIL and asks for it, again and again. Python cannot see this by itself: what it measures begins
// when it has the lock, and a sleep ends some 50 us late whoever holds it.
class LockProbe {
 public:
  // Runs in the thread that calls it until `stop`. Sleeps last for half a tick to one and a half, so that they fall
  // into step with nothing.
  void run(double tick_s) {
    if (!(tick_s > 0)) throw std::invalid_argument("a tick takes more than 0 s");
    uint64_t dice = 0x9E3779B97F4A7C15;
    while (!stopped_) {
      dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
      const double ticks = 0.5 + static_cast<double>(dice >> 11) / static_cast<double>(1ULL << 53);
      const int64_t begun_ns = now_ns();
      int64_t asked_ns = 0;
      {
        GilReleased released;
        std::this_thread::sleep_for(std::chrono::duration<double>(tick_s * ticks));
        asked_ns = now_ns();
        asked_ns_ = asked_ns;
      }
      slept_ns_ += asked_ns - begun_ns;
      book(asked_ns_.exchange(0));
    }
  }

  void stop() { stopped_ = true; }

  // Times the lock was asked for, times it was held then, seconds asleep, seconds of waiting for it, since the last
  // call.
  std::tuple<int64_t, int64_t, double, double> taken() {
    if (asked_ns_ != 0) book(asked_ns_.exchange(now_ns()));  // waits at this moment, for the thread that asks here
    const auto told = std::make_tuple(num_asked_, num_waited_, slept_ns_ * 1e-9, waited_ns_ * 1e-9);
    num_asked_ = num_waited_ = slept_ns_ = waited_ns_ = 0;
    return told;
  }

 private:
  // Getting a lock that is free takes 0.1 us; one that is held puts the thread to sleep, which takes several.
  static constexpr int64_t free_ns = 3000;

  void book(int64_t asked_ns) {
    const int64_t waited_ns = now_ns() - asked_ns;
    ++num_asked_;
    num_waited_ += waited_ns > free_ns;
    waited_ns_ += waited_ns;
  }

  std::atomic<bool> stopped_ = false;
  std::atomic<int64_t> asked_ns_ = 0;  // since when it waits; the rest is only touched by who holds the GIL
  int64_t num_asked_ = 0, num_waited_ = 0, slept_ns_ = 0, waited_ns_ = 0;
};

}  // namespace

void bind_lock_probe(nb::module_& module) {
  nb::class_<LockProbe>(module, "LockProbe")
      .def(nb::init<>())
      .def("run", &LockProbe::run, nb::arg("tick_s"))
      .def("stop", &LockProbe::stop)
      .def("taken", &LockProbe::taken);
}

}  // namespace headrace
