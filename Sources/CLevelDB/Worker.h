// Runs LevelDB's background work: compactions.
//
// LevelDB schedules work while it holds its mutex, and waits for the work when it closes, or when a write finds
// LevelDB's buffers full. LevelDB's own Env starts a thread on demand; if the system refuses the thread, the process
// ends or waits forever. Here the thread is started before the database is opened. Without a thread, work runs on the
// writing threads, between their writes, when no lock is held.

#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cldb {

class Worker {
 public:
  using Work = std::function<void()>;

  Worker() = default;
  // Ends the thread after it has run the queue. If there is no thread, the queue does not run.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Starts the thread, unless the system refuses it.
  void Start();
  void Schedule(Work work);
  // Lets scheduled work run, from now on.
  void Release();
  // Runs scheduled work on this thread, if the worker has no thread.
  void RunWithoutThread();
  // Sleeps, on the worker's thread only: at most a writer that found LevelDB's buffers full waits for that thread.
  // Returns false on any other thread, and if the worker is to end.
  bool Rest(std::chrono::milliseconds duration);

 private:
  void RunQueue(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  // guards what follows, except `thread_`
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_released_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // set before the worker is shared
};

}  // namespace cldb
