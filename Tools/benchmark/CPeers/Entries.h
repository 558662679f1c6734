#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "include/CPeers.h"

/// A key and a value for each entry, in the order of the log.
struct peer_entries {
  std::vector<std::pair<std::string, std::string>> all;
  uint64_t byteCount = 0;
};

/// The first byte of the keys of a journal's entries. Other keys are not entries.
inline constexpr char entryTag = 'e';
