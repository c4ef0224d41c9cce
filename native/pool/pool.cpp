#include "pool/pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace headrace {
namespace {

thread_local uint64_t turn_of_this_thread = 0;

// Lives on the stack of the caller, who waits until nothing of it is left.
struct Batch {
  const std::vector<uint32_t>& items;
  const Pool::Task& task;
  uint64_t turn;
  size_t next = 0;
  size_t left;
};

// Signals belong to the program's own threads: Python wants them on its main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

void name_this_thread() {
  constexpr const char* kName = "headrace-pool";
#ifdef __APPLE__
  pthread_setname_np(kName);
#else
  pthread_setname_np(pthread_self(), kName);
#endif
}

}  // namespace

class Pool::Crew {
 public:
  explicit Crew(int num_threads) : owner_(getpid()) {
    const SignalsBlocked blocked;
    try {
      for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      close();
      throw;
    }
  }

  bool is_ours() const { return owner_ == getpid(); }

  bool run(const std::vector<uint32_t>& items, const Task& task) {
    Batch batch{.items = items, .task = task, .turn = turn_of_this_thread, .left = items.size()};
    std::unique_lock lock(mutex_);
    if (closing_) return false;
    const auto later = [](uint64_t turn, const Batch* other) { return turn < other->turn; };
    batches_.insert(std::upper_bound(batches_.begin(), batches_.end(), batch.turn, later), &batch);
    wake_.notify_all();
    done_.wait(lock, [&] { return batch.left == 0; });
    return true;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void work() {
    name_this_thread();
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return closing_ || !batches_.empty(); });
      if (batches_.empty()) return;
      Batch& batch = *batches_.front();
      const uint32_t item = batch.items[batch.next++];
      if (batch.next == batch.items.size()) batches_.pop_front();
      lock.unlock();
      batch.task(item);
      lock.lock();
      if (--batch.left == 0) done_.notify_all();
    }
  }

  const pid_t owner_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Batch*> batches_;
  std::vector<std::thread> threads_;
  bool closing_ = false;
};

Pool::Pool(int num_threads) : num_threads_(num_threads), crew_(std::make_unique<Crew>(num_threads)) {}

Pool::~Pool() { close(); }

void Pool::set_turn(uint64_t turn) { turn_of_this_thread = turn; }

void Pool::adopt() {
  if (crew_->is_ours()) return;
  // The parent's threads are not here to be joined, and a lock may be held by one of them for ever: leave it all be.
  static_cast<void>(crew_.release());
  crew_ = std::make_unique<Crew>(closed_ ? 0 : num_threads_);
}

bool Pool::run(const std::vector<uint32_t>& items, const Task& task) {
  if (closed_) return false;
  if (items.empty()) return true;
  if (num_threads_ > 0) return crew_->run(items, task);
  for (const uint32_t item : items) task(item);
  return true;
}

void Pool::close() {
  adopt();
  closed_ = true;
  crew_->close();
}

}  // namespace headrace
