#include "Worker.h"

#include <system_error>
#include <utility>

namespace cldb {

using Lock = std::unique_lock<std::mutex>;

Worker::~Worker() {
  if (!thread_.joinable()) return;
  {
    Lock lock(mutex_);
    is_ending_ = true;
    is_released_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::Start() {
  try {
    thread_ = std::thread([this] {
      for (Lock lock(mutex_); !is_ending_;) {
        changed_.wait(lock, [this] { return is_ending_ || (is_released_ && !queue_.empty()); });
        RunQueue(lock);
      }
    });
  } catch (const std::system_error&) {
    // If the system refuses the thread, writers run the work.
  }
}

void Worker::Schedule(Work work) {
  Lock lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
}

void Worker::Release() {
  Lock lock(mutex_);
  is_released_ = true;
  changed_.notify_all();
}

void Worker::RunWithoutThread() {
  if (thread_.joinable()) return;
  Lock lock(mutex_);
  RunQueue(lock);
}

bool Worker::Rest(std::chrono::milliseconds duration) {
  if (std::this_thread::get_id() != thread_.get_id()) return false;
  Lock lock(mutex_);
  return !changed_.wait_for(lock, duration, [this] { return is_ending_; });
}

void Worker::RunQueue(Lock& lock) {
  while (is_released_ && !queue_.empty()) {
    Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace cldb
