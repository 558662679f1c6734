// Carries errors of system calls through LevelDB to a `cldb_status`.
//
// A leveldb::Status has a class of error and a text, but no errno. So the errno and the code are appended to the text
// here, and removed from it again.

#pragma once

#include <string>

#include "CLevelDB.h"
#include "leveldb/status.h"

// If the status of an expression is a failure, returns it from the calling function.
#define CLDB_TRY(expression) \
  if (leveldb::Status tried = (expression); !tried.ok()) return tried

namespace cldb {

// The status of a failed system call: "<path>: <what>: <the system's words>".
leveldb::Status SystemError(const std::string& path, const char* what, int error);

leveldb::Status Failed(cldb_code code, const std::string& path, const std::string& what, int error = 0);

bool Succeed(cldb_status* status);
bool Fail(cldb_status* status, cldb_code code, int os_error, const std::string& message);

// Converts LevelDB's status, and returns whether it is OK.
bool Translate(const leveldb::Status& from, cldb_status* status);

void SetKey(cldb_status* status, const std::string& key);

// Whether the process or the system had no free descriptor, which is temporary.
bool IsShortOfDescriptors(const leveldb::Status& status);

// Whether descriptors or memory were lacking, which is temporary.
bool IsShortage(const leveldb::Status& status);

// The text of a failure for people, without the code and the errno.
std::string WordsOf(const leveldb::Status& status);

}  // namespace cldb
