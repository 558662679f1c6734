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

/// The tag byte under which a journal files its entries; other keys are not entries.
inline constexpr char entryTag = 'e';
