// Threads that work through batches.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace headrace {

// Threads take items from the batches handed in, the earliest turn first, of equal turns the first that came; one that
// finds nothing left of a batch goes on with the next, so that several callers, each blocked in `run`, keep all threads
// busy without a barrier between batches. With 0 threads the caller does the work itself.
class Pool {
 public:
  using Task = std::function<void(uint32_t item)>;

  explicit Pool(int num_threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // The turn of what this thread hands in from now on, to any pool; 0 until it is set.
  static void set_turn(uint64_t turn);

  int num_threads() const { return num_threads_; }

  // Starts threads anew in a child process, where those of the parent do not exist. Callers take turns.
  void adopt();

  // Runs the task once for each item, in this order as far as threads allow, and returns when all are done. The task
  // must not throw. Returns false, and runs nothing, when the pool is closed.
  bool run(const std::vector<uint32_t>& items, const Task& task);

  // Ends the threads once the batches handed in are done. Idempotent.
  void close();

 private:
  class Crew;
  int num_threads_;
  std::atomic<bool> closed_ = false;
  std::unique_ptr<Crew> crew_;
};

}  // namespace headrace
