#include "Failure.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace cldb {

using leveldb::Status;

namespace {

// Separates the text from the code and the errno. No text or path contains it.
constexpr char kMark = '\0';

// The errno of a failure, or 0. `code` is set only if the failure has a mark.
int ReadMark(const Status& from, cldb_code* code) {
  const std::string text = from.ToString();
  const size_t mark = text.find(kMark);
  if (mark == std::string::npos) return 0;
  char* rest = nullptr;
  *code = static_cast<cldb_code>(std::strtol(text.c_str() + mark + 1, &rest, 10));
  return static_cast<int>(std::strtol(rest + 1, nullptr, 10));
}

int ErrorOf(const Status& status) {
  cldb_code code;
  return ReadMark(status, &code);
}

}  // namespace

Status Failed(cldb_code code, const std::string& path, const std::string& what, int error) {
  std::string text = what + kMark + std::to_string(code) + kMark + std::to_string(error);
  // LevelDB treats two classes specially: NotFound means that a key is absent, and Corruption of a log is skipped
  // without paranoid checks. A temporary error must be neither.
  return code == CLDB_DAMAGED ? Status::Corruption(path, text) : Status::IOError(path, text);
}

Status SystemError(const std::string& path, const char* what, int error) {
  // Unlike std::strerror, this function is safe to use from any thread.
  std::string reason = std::string(what) + ": " + std::generic_category().message(error);
  return Failed(error == ENOMEM ? CLDB_OUT_OF_RESOURCES : CLDB_IO, path, reason, error);
}

bool Succeed(cldb_status* status) {
  Fail(status, CLDB_OK, 0, "");
  return true;
}

bool Fail(cldb_status* status, cldb_code code, int os_error, const std::string& message) {
  status->code = code;
  status->os_error = os_error;
  status->key_size = 0;
  const size_t count = std::min(message.size(), sizeof(status->message) - 1);
  std::memcpy(status->message, message.data(), count);
  status->message[count] = '\0';
  return false;
}

void SetKey(cldb_status* status, const std::string& key) {
  if (key.size() > sizeof(status->key)) return;
  std::memcpy(status->key, key.data(), key.size());
  status->key_size = static_cast<int32_t>(key.size());
}

bool Translate(const Status& from, cldb_status* status) {
  if (from.ok()) return Succeed(status);
  cldb_code code = CLDB_IO;
  if (from.IsCorruption()) code = CLDB_DAMAGED;
  if (from.IsNotFound()) code = CLDB_NOT_FOUND;
  if (from.IsInvalidArgument() || from.IsNotSupportedError()) code = CLDB_WRONG_USE;
  const int error = ReadMark(from, &code);
  return Fail(status, code, error, WordsOf(from));
}

bool IsShortOfDescriptors(const Status& status) {
  const int error = ErrorOf(status);
  return error == EMFILE || error == ENFILE;
}

bool IsShortage(const Status& status) { return IsShortOfDescriptors(status) || ErrorOf(status) == ENOMEM; }

std::string WordsOf(const Status& status) {
  std::string text = status.ToString();
  text = text.substr(0, text.find(kMark));
  // LevelDB's class of error is removed, because the message says more.
  for (const char* prefix : {"IO error: ", "Corruption: "}) {
    if (text.compare(0, std::strlen(prefix), prefix) == 0) return text.substr(std::strlen(prefix));
  }
  return text;
}

}  // namespace cldb
