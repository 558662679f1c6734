#include "Worker.h"

#include <system_error>
#include <utility>

namespace cldb {

Worker::~Worker() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
    is_released_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The system has none.
  }
}

void Worker::Schedule(Work work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Worker::Release() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_released_ = true;
  }
  changed_.notify_all();
}

void Worker::RunWithoutThread() {
  if (thread_.joinable()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  while (is_released_ && !queue_.empty()) {
    Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

bool Worker::Rest(std::chrono::milliseconds duration) {
  if (std::this_thread::get_id() != thread_.get_id()) return false;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, duration, [this] { return is_ending_; });
  return !is_ending_;
}

void Worker::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || (is_released_ && !queue_.empty()); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace cldb
