#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "include/CPeers.h"

struct peer {
  virtual ~peer() = default;
};

/// Keys and values, in the order of the log.
struct Entries : peer {
  std::vector<std::pair<std::string, std::string>> all;
  uint64_t byteCount = 0;
};

/// A failed peer makes the figures worthless, so the peers throw, and the C interface reports the message.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns what `body` returns. If it throws, stores the message for `peer_failure` and returns false or NULL.
template <typename Body>
auto reporting(Body body) -> decltype(body()) {
  extern thread_local std::string peerFailure;
  try {
    return body();
  } catch (const std::exception &exception) {
    peerFailure = exception.what();
    return {};
  }
}
