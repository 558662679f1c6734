// From a failing system call to a `cldb_status`, through LevelDB.
//
// A leveldb::Status carries a class of error and a text, and no errno. So that the errno arrives all the
// same, it is left in a variable of the thread, which each entry point clears first and reads last.

#pragma once

#include <string>

#include "CLevelDB.h"
#include "leveldb/status.h"

namespace cldb {

// The errno of the newest failure on this thread, 0 for none.
int& LastError();

// What a failed system call becomes: "<path>: <what>: <the system's words>".
leveldb::Status SystemError(const std::string& path, const char* what, int error);

void Succeed(cldb_status* status);
bool Fail(cldb_status* status, cldb_code code, int os_error, const std::string& message);

// Fills `status` from LevelDB's, and answers whether it is OK.
bool Translate(const leveldb::Status& from, cldb_status* status);

// To be called in a catch block: fills `status` from the exception in flight.
void TranslateException(cldb_status* status);

}  // namespace cldb
