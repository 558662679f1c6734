// The names that LevelDB gives to its files.

#pragma once

#include <cstdint>
#include <string>

namespace cldb {

struct FileName {
  enum class Kind { kCurrent, kLock, kNotes, kManifest, kLog, kTable, kTemporary, kOther };

  // No database counts its files as high. LevelDB itself goes wrong near 2^64.
  static constexpr uint64_t kLargestNumber = uint64_t(1) << 48;

  Kind kind = Kind::kOther;
  uint64_t number = 0;

  // Of a name that LevelDB would take for one of its files and never gives, such as one with a number that is too
  // large or written in another way, the number is above the largest.
  static FileName Parse(const std::string& name);

  static std::string Of(Kind kind, uint64_t number);

  bool IsAbsurd() const { return number > kLargestNumber; }
};

}  // namespace cldb
