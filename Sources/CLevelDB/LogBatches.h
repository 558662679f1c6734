// The contents of LevelDB's log: batches of keys and values.

#pragma once

#include <functional>
#include <string>

#include "RecordFile.h"
#include "TableRanges.h"

namespace cldb {

// Cuts the bytes of a log before the first batch that LevelDB would not have written, and marks it as damaged there.
// LevelDB assumes without a check, for example, that no sequence number occurs twice.
void CheckBatches(RecordFile* log);

// The first and the last key of each kind in the bytes of a log that was checked.
KeyRanges ReadKeyRanges(const std::string& log);

// Calls `see` with each key and value of a batch, in order. False, without a call, if the record is not a batch.
bool ReadBatch(const leveldb::Slice& record,
               const std::function<void(const leveldb::Slice& key, const leveldb::Slice& value)>& see);

}  // namespace cldb
