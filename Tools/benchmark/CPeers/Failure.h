#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "include/CPeers.h"

/// A failed peer makes the figures worthless, so everything in here throws, and the C interface reports the message.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
  static Failure ofSystem(const std::string &what, int number) {
    return Failure(what + ": " + std::strerror(number));
  }
};

/// Runs `body`, and stores the message of what it throws in `error`. Returns whether nothing was thrown.
template <typename Body>
bool reporting(peer_error *error, Body body) {
  try {
    body();
    return true;
  } catch (const std::exception &exception) {
    std::snprintf(error->message, sizeof error->message, "%s", exception.what());
  } catch (...) {
    std::snprintf(error->message, sizeof error->message, "an exception of unknown type");
  }
  return false;
}
