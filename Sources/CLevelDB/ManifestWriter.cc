#include "ManifestWriter.h"

#include "Coding.h"
#include "Manifest.h"
#include "RecordFile.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

Status ManifestWriter::Append(const Slice& data) {
  header_ = payload_;
  payload_ = pending_.size();
  pending_.append(data.data(), data.size());
  return Status::OK();
}

Status ManifestWriter::Flush() {
  LowerSequence();
  Status status = file_->Append(pending_);
  pending_.clear();
  header_ = payload_ = 0;
  return status.ok() ? file_->Flush() : status;
}

Status ManifestWriter::Sync() {
  Status status = pending_.empty() ? Status::OK() : Flush();
  return status.ok() ? file_->Sync() : status;
}

Status ManifestWriter::Close() {
  Status status = pending_.empty() ? Status::OK() : Flush();
  Status closed = file_->Close();
  return status.ok() ? closed : status;
}

void ManifestWriter::LowerSequence() {
  constexpr char kFull = 1;
  // A record in several fragments stays as it is. LevelDB's records have some hundred bytes.
  if (payload_ - header_ != RecordJoiner::kHeaderSize || pending_[payload_ - 1] != kFull) return;
  const char* bytes = &pending_[payload_];
  const char* limit = &pending_[0] + pending_.size();
  uint64_t tag, log = 0, number;
  Slice name;
  // A record begins with these parts, in this order. Only the number of the log is needed.
  while (ReadShortVarint(bytes, limit, &tag) && tag != kLastSequence) {
    if (tag == kComparator) {
      if (!ReadBytes(bytes, limit, &name)) return;
    } else if (tag == kLogNumber || tag == kPreviousLogNumber || tag == kNextFileNumber) {
      if (!ReadVarint(bytes, limit, &number)) return;
      if (tag == kLogNumber) log = number;
    } else {
      return;
    }
  }
  const size_t start = bytes - &pending_[0];
  if (tag != kLastSequence || log == 0 || !ReadVarint(bytes, limit, &number)) return;
  const size_t end = bytes - &pending_[0];
  const uint64_t first = first_sequence_(log);
  if (first == 0 || first > number) return;
  // As many bytes as before, so that no other byte moves.
  uint64_t rest = first - 1;
  for (size_t index = start; index < end; index++, rest >>= 7)
    pending_[index] = static_cast<char>((rest & 0x7f) | (index + 1 < end ? 0x80 : 0));
  WriteFixed32(Checksum(&pending_[payload_ - 1], pending_.size() - payload_ + 1), &pending_[header_]);
}

}  // namespace cldb
