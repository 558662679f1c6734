// What is in LevelDB's log: batches of keys and values.

#pragma once

#include <functional>
#include <string>

#include "RecordFile.h"
#include "TableRanges.h"

namespace cldb {

// Ends the bytes of a log before the first batch that LevelDB would not have written, and says that it is damaged
// there. LevelDB assumes what it does not check: that no key has the same sequence number twice, for one.
void CheckBatches(RecordFile* log);

// The first and the last key of each kind in the bytes of a log that was checked.
KeyRanges ReadKeyRanges(const std::string& log);

// Calls `see` with each key and value of a batch, in order. False, and nothing is seen, if the record is none.
bool ReadBatch(const leveldb::Slice& record,
               const std::function<void(const leveldb::Slice& key, const leveldb::Slice& value)>& see);

}  // namespace cldb
