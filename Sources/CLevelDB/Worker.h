// Where LevelDB's work in the background runs: compactions.
//
// LevelDB asks for work while it holds its mutex, and then waits for the end of it when it closes, or when a write
// finds no room. Its own Env starts a thread whenever it has none; if the system refuses, the process ends or waits
// forever. Here the thread is started before the database is opened. Without one, work runs on the threads that write,
// between their writes, when no lock is held.

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
  // Runs what is in the queue and ends the thread.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Starts the thread, if the system has one to give.
  void Start();
  void Schedule(Work work);
  // Lets work run, which until now only waits.
  void Release();
  // Runs what waits, on this thread, if the worker has none of its own.
  void RunWithoutThread();
  // Lets the worker's own thread rest for a moment, where nobody waits for it but a writer without room. False on any
  // other thread, and when the worker is to end.
  bool Rest(std::chrono::milliseconds duration);

 private:
  void Run();

  std::mutex mutex_;  // guards what follows, but for `thread_`
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_released_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // set before the worker is shared
};

}  // namespace cldb
