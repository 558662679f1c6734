// From a failing system call to a `cldb_status`, through LevelDB.
//
// A leveldb::Status carries a class of error and a text, and no errno. So that the errno and the code arrive all
// the same, on whichever thread LevelDB reports them, they are put behind the text, and taken off here.

#pragma once

#include <string>

#include "CLevelDB.h"
#include "leveldb/status.h"

namespace cldb {

// What a failed system call becomes: "<path>: <what>: <the system's words>".
leveldb::Status SystemError(const std::string& path, const char* what, int error);

// A failure of this code.
leveldb::Status Failed(cldb_code code, const std::string& path, const std::string& what, int error = 0);

void Succeed(cldb_status* status);
bool Fail(cldb_status* status, cldb_code code, int os_error, const std::string& message);

// Fills `status` from LevelDB's, and answers whether it is OK.
bool Translate(const leveldb::Status& from, cldb_status* status);

// Says which key a failure is about.
void SetKey(cldb_status* status, const std::string& key);

// The system's error number of a failure; 0 if there is none.
int ErrorOf(const leveldb::Status& status);

// Whether the process or the system has no descriptor to give, which passes.
bool IsShortOfDescriptors(const leveldb::Status& status);

// The words of a failure, for people.
std::string WordsOf(const leveldb::Status& status);

// To be called in a catch block: fills `status` from the exception in flight.
void TranslateException(cldb_status* status);

}  // namespace cldb
