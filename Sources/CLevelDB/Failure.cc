#include "Failure.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace cldb {

int& LastError() {
  static thread_local int error = 0;
  return error;
}

leveldb::Status SystemError(const std::string& path, const char* what, int error) {
  LastError() = error;
  // std::strerror is not safe with threads; this is.
  std::string reason = std::string(what) + ": " + std::generic_category().message(error);
  if (error == ENOENT) return leveldb::Status::NotFound(path, reason);
  return leveldb::Status::IOError(path, reason);
}

void Succeed(cldb_status* status) {
  status->code = CLDB_OK;
  status->os_error = 0;
  status->message[0] = '\0';
}

bool Fail(cldb_status* status, cldb_code code, int os_error, const std::string& message) {
  status->code = code;
  status->os_error = os_error;
  size_t count = std::min(message.size(), sizeof(status->message) - 1);
  std::memcpy(status->message, message.data(), count);
  status->message[count] = '\0';
  return false;
}

static cldb_code CodeOf(const leveldb::Status& from, int error) {
  if (from.IsCorruption()) return CLDB_CORRUPTION;
  if (from.IsNotFound()) return CLDB_NOT_FOUND;
  if (from.IsInvalidArgument() || from.IsNotSupportedError()) return CLDB_INVALID;
  if (error == EROFS) return CLDB_READ_ONLY;
  if (error == EAGAIN) return CLDB_BUSY;
  return CLDB_IO_ERROR;
}

bool Translate(const leveldb::Status& from, cldb_status* status) {
  if (from.ok()) {
    Succeed(status);
    return true;
  }
  int error = LastError();
  return Fail(status, CodeOf(from, error), error, from.ToString());
}

void TranslateException(cldb_status* status) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    Fail(status, CLDB_NO_MEMORY, ENOMEM, "more memory was asked for than there is");
  } catch (const std::exception& error) {
    Fail(status, CLDB_EXCEPTION, 0, error.what());
  } catch (...) {
    Fail(status, CLDB_EXCEPTION, 0, "an exception of an unknown kind");
  }
}

}  // namespace cldb
