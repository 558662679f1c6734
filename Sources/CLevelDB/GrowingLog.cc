#include "GrowingLog.h"

#include <algorithm>

#include "CFiles.h"
#include "RecordFile.h"
#include "LogBatches.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

Status GrowingLog::Open(const Folder& folder, const std::string& name, std::unique_ptr<GrowingLog>* result) {
  int descriptor;
  uint64_t size;
  Status status = folder.OpenForReading(name, &descriptor, &size);
  if (status.ok()) result->reset(new GrowingLog(folder, name, descriptor));
  return status;
}

GrowingLog::~GrowingLog() { cfiles_close(descriptor_); }

Status GrowingLog::Read(const std::function<void(const Slice&, const Slice&)>& see) {
  const std::unique_ptr<char[]> block(new char[RecordCursor::kBlockSize]);
  RecordJoiner record;
  uint64_t position = offset_;
  while (true) {
    const size_t wanted = RecordCursor::kBlockSize - position % RecordCursor::kBlockSize;
    size_t count = 0, used = 0;
    Status status = folder_.Read(descriptor_, name_, position, wanted, block.get(), &count);
    if (!status.ok()) return status;
    Slice rest(block.get(), count);
    while (record.Take(&rest)) {
      used = count - rest.size();
      if (!record.is_whole()) continue;
      if (!ReadBatch(record.bytes(), see)) return Status::OK();
      offset_ = position + used;
    }
    // What is left of a block may be too short for another header.
    if (count < wanted || wanted - used >= RecordJoiner::kHeaderSize) return Status::OK();
    position += wanted;
  }
}

}  // namespace cldb
