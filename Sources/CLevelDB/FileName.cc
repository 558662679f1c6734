#include "FileName.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "CLevelDB.h"

namespace cldb {

FileName FileName::Parse(const std::string& name) {
  FileName result;
  if (name == "CURRENT") result.kind = Kind::kCurrent;
  if (name == "LOCK") result.kind = Kind::kLock;
  if (name == "LOG" || name == "LOG.old") result.kind = Kind::kInfoLog;
  if (result.kind != Kind::kOther) return result;

  constexpr char kPrefix[] = "MANIFEST-";
  const bool is_manifest = name.compare(0, std::strlen(kPrefix), kPrefix) == 0;
  const size_t start = is_manifest ? std::strlen(kPrefix) : 0;
  const size_t end = name.find_first_not_of("0123456789", start);
  if (end == start || start == name.size()) return result;
  const std::string suffix = end == std::string::npos ? "" : name.substr(end);
  if (is_manifest && suffix.empty()) {
    result.kind = Kind::kManifest;
  } else if (!is_manifest && suffix == ".log") {
    result.kind = Kind::kLog;
  } else if (!is_manifest && (suffix == ".ldb" || suffix == ".sst")) {
    result.kind = Kind::kTable;
  } else if (!is_manifest && suffix == ".dbtmp") {
    result.kind = Kind::kTemporary;
  } else {
    return result;
  }
  result.number = std::strtoull(name.c_str() + start, nullptr, 10);
  // Older versions of LevelDB named tables .sst.
  std::string canonical = suffix == ".sst" ? Of(Kind::kTable, result.number) : Of(result.kind, result.number);
  if (suffix == ".sst") canonical.replace(canonical.size() - suffix.size(), suffix.size(), suffix);
  if (name != canonical) result.number = UINT64_MAX;
  return result;
}

std::string FileName::Of(Kind kind, uint64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%06" PRIu64, number);
  switch (kind) {
    case Kind::kManifest: return std::string("MANIFEST-") + digits;
    case Kind::kLog: return std::string(digits) + ".log";
    case Kind::kTable: return std::string(digits) + ".ldb";
    case Kind::kTemporary: return std::string(digits) + ".dbtmp";
    default: return "";
  }
}

}  // namespace cldb

bool cldb_is_file_name(const char* name) {
  const cldb::FileName parsed = cldb::FileName::Parse(name);
  return parsed.kind != cldb::FileName::Kind::kOther && !parsed.IsAbsurd();
}
