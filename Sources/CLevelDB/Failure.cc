#include "Failure.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace cldb {

namespace {

// Marks the appended code and errno. No text or path contains it.
constexpr char kMark = '\0';

}  // namespace

leveldb::Status Failed(cldb_code code, const std::string& path, const std::string& what, int error) {
  std::string text = what + kMark + std::to_string(code) + kMark + std::to_string(error);
  // LevelDB treats two classes specially: for a lookup NotFound means that the key is absent, and Corruption of a log
  // is skipped without paranoid checks. A temporary error must be neither.
  if (code == CLDB_DAMAGED) return leveldb::Status::Corruption(path, text);
  return leveldb::Status::IOError(path, text);
}

leveldb::Status SystemError(const std::string& path, const char* what, int error) {
  // std::strerror is not safe with threads; this is.
  std::string reason = std::string(what) + ": " + std::generic_category().message(error);
  return Failed(error == ENOMEM ? CLDB_OUT_OF_RESOURCES : CLDB_IO, path, reason, error);
}

void Succeed(cldb_status* status) {
  status->code = CLDB_OK;
  status->os_error = 0;
  status->key_size = 0;
  status->message[0] = '\0';
}

bool Fail(cldb_status* status, cldb_code code, int os_error, const std::string& message) {
  status->code = code;
  status->os_error = os_error;
  status->key_size = 0;
  size_t count = std::min(message.size(), sizeof(status->message) - 1);
  std::memcpy(status->message, message.data(), count);
  status->message[count] = '\0';
  return false;
}

void SetKey(cldb_status* status, const std::string& key) {
  if (key.size() > sizeof(status->key)) return;
  std::memcpy(status->key, key.data(), key.size());
  status->key_size = static_cast<int32_t>(key.size());
}

static cldb_code CodeOf(const leveldb::Status& from) {
  if (from.IsCorruption()) return CLDB_DAMAGED;
  if (from.IsNotFound()) return CLDB_NOT_FOUND;
  if (from.IsInvalidArgument() || from.IsNotSupportedError()) return CLDB_WRONG_USE;
  return CLDB_IO;
}

// Removes the appended mark; if there is none, both are unchanged.
static void ReadMark(const leveldb::Status& from, cldb_code* code, int* error) {
  std::string text = from.ToString();
  size_t mark = text.find(kMark);
  if (mark == std::string::npos) return;
  char* rest = nullptr;
  *code = static_cast<cldb_code>(std::strtol(text.c_str() + mark + 1, &rest, 10));
  if (*rest == kMark) *error = static_cast<int>(std::strtol(rest + 1, nullptr, 10));
}

bool Translate(const leveldb::Status& from, cldb_status* status) {
  if (from.ok()) {
    Succeed(status);
    return true;
  }
  cldb_code code = CodeOf(from);
  int error = 0;
  ReadMark(from, &code, &error);
  return Fail(status, code, error, WordsOf(from));
}

int ErrorOf(const leveldb::Status& status) {
  cldb_code code;
  int error = 0;
  if (!status.ok()) ReadMark(status, &code, &error);
  return error;
}

bool IsShortOfDescriptors(const leveldb::Status& status) {
  int error = ErrorOf(status);
  return error == EMFILE || error == ENFILE;
}

bool IsShortage(const leveldb::Status& status) {
  return IsShortOfDescriptors(status) || ErrorOf(status) == ENOMEM;
}

std::string WordsOf(const leveldb::Status& status) {
  std::string text = status.ToString();
  text = text.substr(0, text.find(kMark));
  // The message says more than LevelDB's class.
  for (const char* prefix : {"IO error: ", "Corruption: "}) {
    if (text.compare(0, std::strlen(prefix), prefix) == 0) return text.substr(std::strlen(prefix));
  }
  return text;
}

void TranslateException(cldb_status* status) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    Fail(status, CLDB_OUT_OF_RESOURCES, ENOMEM, "more memory was requested than the system has");
  } catch (const std::exception& error) {
    Fail(status, CLDB_EXCEPTION, 0, error.what());
  } catch (...) {
    Fail(status, CLDB_EXCEPTION, 0, "an exception of an unknown kind");
  }
}

}  // namespace cldb
