#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

/// The seconds that a piece of work takes.
template <typename Body>
double timed(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs `work(caller, start)` on `callers` threads at once and returns the seconds from the moment all have called
/// `start()` until the last has returned. What a caller prepares before `start()` is not measured. If callers throw,
/// the first exception is rethrown after all have ended.
inline double timedCallers(size_t callers,
                           const std::function<void(size_t, const std::function<void()> &)> &work) {
  std::mutex mutex;
  std::condition_variable changed;
  size_t waiting = 0;
  bool isOpen = false;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (size_t caller = 0; caller < callers; caller++) {
    threads.emplace_back([&, caller] {
      bool hasArrived = false;
      const auto arrive = [&] {
        std::unique_lock<std::mutex> lock(mutex);
        hasArrived = true;
        waiting++;
        changed.notify_all();
        changed.wait(lock, [&] { return isOpen; });
      };
      try {
        work(caller, arrive);
      } catch (...) {
        {
          std::lock_guard<std::mutex> lock(mutex);
          if (!failure) failure = std::current_exception();
        }
        if (!hasArrived) arrive();
      }
    });
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return waiting == callers; });
  }
  const double seconds = timed([&] {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isOpen = true;
      changed.notify_all();
    }
    for (auto &thread : threads) thread.join();
  });
  if (failure) std::rethrow_exception(failure);
  return seconds;
}
