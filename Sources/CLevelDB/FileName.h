// The names that LevelDB gives to its files.

#pragma once

#include <cstdint>
#include <string>

namespace cldb {

struct FileName {
  enum class Kind { kCurrent, kLock, kInfoLog, kManifest, kLog, kTable, kTemporary, kOther };

  // The largest number of a file that is accepted. No database has that many files, and LevelDB fails near 2^64.
  static constexpr uint64_t kLargestNumber = 9'999'999'999;

  Kind kind = Kind::kOther;
  uint64_t number = 0;

  // A name that LevelDB accepts but never creates, such as one with extra zeros, gets a number above the largest.
  static FileName Parse(const std::string& name);

  // The name of a file of a kind that has numbers.
  static std::string Of(Kind kind, uint64_t number);

  bool IsAbsurd() const { return number > kLargestNumber; }
};

}  // namespace cldb
