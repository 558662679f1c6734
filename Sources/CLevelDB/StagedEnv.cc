#include "StagedEnv.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "CFiles.h"
#include "Coding.h"
#include "Failure.h"
#include "FileName.h"
#include "TableRanges.h"
#include "LogBatches.h"
#include "ManifestWriter.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;
using Kind = FileName::Kind;

namespace {

// Whether a write of this thread was refused a new log.
thread_local bool is_refused = false;

// LevelDB never recovers if its background work fails. A lack of descriptors is temporary, so the work waits until it
// is over, but not longer than a writer without room should wait.
constexpr auto kRest = std::chrono::milliseconds(10);
constexpr int kMostRests = 500;

class HeldLock final : public leveldb::FileLock {};

}  // namespace

StagedEnv::StagedEnv(std::unique_ptr<Folder> folder, Inventory inventory, std::unique_ptr<LockedFile> lock,
                     size_t kept_log_size)
    : leveldb::EnvWrapper(leveldb::Env::Default()),
      folder_(std::move(folder)),
      inventory_(std::move(inventory)),
      lock_(std::move(lock)),
      kept_log_size_(kept_log_size) {}

StagedEnv::~StagedEnv() = default;

Status StagedEnv::Lock() {
  if (lock_ != nullptr) return Status::OK();
  LockedFile* lock;
  Status status = LockedFile::Acquire(*folder_, "LOCK", &lock);
  if (status.ok()) lock_.reset(lock);
  return status;
}

void StagedEnv::Break(const std::string& reason) {
  folder_->Poison(reason);
  broken_.store(true, std::memory_order_release);
}

bool StagedEnv::TakeRefusal() { return std::exchange(is_refused, false); }

Status StagedEnv::WaitingForDescriptors(const std::function<Status()>& open) {
  Status status = open();
  for (int rests = 0; IsShortOfDescriptors(status) && rests < kMostRests && worker_.Rest(kRest); rests++)
    status = open();
  return status;
}

void StagedEnv::AbandonLock() {
  if (lock_ != nullptr) lock_->Release();
}

// MARK: From memory to disk

Status StagedEnv::ReadTables(std::vector<TableInfo>* tables) const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& file : staged_) {
    if (FileName::Parse(file.first).kind != Kind::kManifest) continue;
    Manifest manifest;
    Status status = Manifest::Read(file.second->bytes(), folder_->PathOf(file.first), &manifest);
    if (status.ok()) *tables = std::move(manifest.tables);
    return status;
  }
  return Failed(CLDB_EXCEPTION, folder_->path(), "the database has no manifest");
}

Status StagedEnv::BeginWriting(const std::function<Status(const Slice&)>& holds, std::string* key) {
  if (!inventory_.damage.ok()) return inventory_.damage;
  Staged staged;
  std::set<std::string> removed, replaced;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    staged = staged_;
    removed = hidden_;
  }
  for (const auto& file : staged) {
    const bool takes_name = file.first == "CURRENT" || file.second == kept_log_;
    if (inventory_.names.count(file.first) > 0 && !takes_name) replaced.insert(file.first);
    // Both are written under the name that LevelDB gives to such files, and then renamed.
    FileName name = FileName::Parse(file.first);
    if (name.kind == Kind::kManifest || file.second == kept_log_) {
      std::string temporary = FileName::Of(Kind::kTemporary, name.number);
      if (inventory_.names.count(temporary) > 0) replaced.insert(temporary);
    }
  }
  removed.insert(replaced.begin(), replaced.end());
  for (const std::string& name : removed) {
    Status status = CheckLeftover(name, holds, key);
    if (!status.ok()) return status;
  }

  Status status = Lock();
  for (auto name = replaced.begin(); status.ok() && name != replaced.end(); name++) status = folder_->Remove(*name);
  if (!status.ok()) return status;
  std::vector<std::string> made;
  status = PutAll(staged, &made);
  if (!status.ok()) {
    folder_->Poison(WordsOf(status));
    for (const std::string& name : made) folder_->Discard(name);
    return status;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    session_ = inventory_.names;
    for (const auto& file : staged) session_.insert(file.first);
    staged_.clear();
    hidden_.clear();
    // From now on only LevelDB has it. Otherwise its file would stay open after LevelDB has replaced and removed it.
    kept_log_.reset();
  }
  is_writing_.store(true, std::memory_order_release);
  for (const std::string& name : removed) {
    // A leftover costs space, and is removed by the next opening.
    if (replaced.count(name) == 0 && staged.count(name) == 0) RemoveFile(folder_->PathOf(name));
  }
  worker_.Release();
  return Status::OK();
}

Status StagedEnv::CheckLeftover(const std::string& name, const std::function<Status(const Slice&)>& holds,
                                std::string* key) const {
  KeyRanges ranges;
  Kind kind = FileName::Parse(name).kind;
  if (kind == Kind::kLog) {
    if (inventory_.logs.count(name) > 0) {
      // LevelDB got the whole log, or never requested it.
      if (inventory_.contents.count(name) == 0) return Status::OK();
      return Failed(CLDB_EXCEPTION, folder_->PathOf(name), "LevelDB has not read this log");
    }
    RecordFile log;
    Status status = RecordFile::Read(*folder_, name, RecordFile::Kind::kLog, &log);
    if (!status.ok()) return status;
    CheckBatches(&log);
    ranges = ReadKeyRanges(log.bytes);
  } else if (kind == Kind::kTable) {
    std::unique_ptr<DiskTable> table;
    Status status = DiskTable::Open(*folder_, name, nullptr, &table);
    if (!status.ok()) return status;
    uint64_t size = table->size();
    status = ReadKeyRanges(std::move(table), size, &ranges);
    // A table that a crash has left unfinished. Its sources exist, or else keys would be missing.
    if (status.IsCorruption()) return Status::OK();
    if (!status.ok()) return status;
  }
  for (const auto& range : ranges) {
    for (const std::string& end : {range.first, range.second}) {
      Status status = holds(end);
      if (status.ok()) continue;
      if (!status.IsNotFound()) return status;
      *key = end;
      return Failed(CLDB_DAMAGED, folder_->PathOf(name),
                    "the file is not part of the database any more, but has entries that the database lacks");
    }
  }
  return Status::OK();
}

Status StagedEnv::PutAll(const Staged& staged, std::vector<std::string>* made) {
  std::string temporary;
  // The tables, then the manifest that names them, then CURRENT, which names the manifest.
  for (Kind kind : {Kind::kTable, Kind::kLog, Kind::kManifest}) {
    for (const auto& file : staged) {
      FileName name = FileName::Parse(file.first);
      if (name.kind != kind) continue;
      const bool is_kept_log = file.second == kept_log_;
      made->push_back(is_kept_log ? FileName::Of(Kind::kTemporary, name.number) : file.first);
      Status status = file.second->Put(*folder_, made->back());
      if (status.ok() && is_kept_log) status = file.second->Rename(*folder_, file.first);
      if (!status.ok()) return status;
      // The file has the same entries and the same name as before, so there is nothing to undo.
      if (is_kept_log) made->pop_back();
      if (kind == Kind::kManifest) temporary = FileName::Of(Kind::kTemporary, name.number);
    }
  }
  auto current = staged.find("CURRENT");
  if (current == staged.end() || temporary.empty())
    return Failed(CLDB_EXCEPTION, folder_->path(), "the database has no manifest");
  made->push_back(temporary);
  Status status = current->second->Put(*folder_, temporary);
  if (!status.ok()) return status;
  status = folder_->Rename(temporary, "CURRENT");
  if (!status.ok()) {
    // If the rename took effect nevertheless, CURRENT names these files, so they must stay.
    bool is_there;
    uint64_t size;
    if (!folder_->Find(temporary, &is_there, &size).ok() || !is_there) made->clear();
  }
  return status;
}

// MARK: Files

std::shared_ptr<StagedFile> StagedEnv::Find(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = staged_.find(name);
  return found == staged_.end() ? nullptr : found->second;
}

Status StagedEnv::NewSequentialFile(const std::string& path, leveldb::SequentialFile** result) {
  *result = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  if (auto file = Find(name)) {
    *result = new BytesReader(file->bytes());
    return Status::OK();
  }
  auto found = inventory_.contents.find(name);
  if (found == inventory_.contents.end()) return Failed(CLDB_DAMAGED, path, "the file is missing");
  if (inventory_.logs.count(name) > 0) {
    std::lock_guard<std::mutex> lock(mutex_);
    kept_log_name_ = found->second.size() <= kept_log_size_ ? name : "";
    if (!kept_log_name_.empty()) kept_log_bytes_ = found->second;
  }
  *result = new BytesReader(std::move(found->second));
  inventory_.contents.erase(found);
  return Status::OK();
}

Status StagedEnv::NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** result) {
  *result = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  if (auto file = Find(name)) {
    *result = new StagedTable(std::move(file));
    return Status::OK();
  }
  std::unique_ptr<DiskTable> table;
  const TableInfo* info = nullptr;
  const uint64_t number = FileName::Parse(name).number;
  for (const TableInfo& table : inventory_.manifest.tables) {
    if (table.number == number) info = &table;
  }
  status = WaitingForDescriptors([&] { return DiskTable::Open(*folder_, name, info, &table); });
  *result = table.release();
  return status;
}

Status StagedEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** result) {
  *result = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  const bool is_log = FileName::Parse(name).kind == Kind::kLog;
  if (is_writing()) {
    int descriptor;
    status = WaitingForDescriptors([&] { return folder_->Create(name, &descriptor); });
    if (is_log) is_refused = IsShortOfDescriptors(status);
    if (!status.ok()) return status;
    std::lock_guard<std::mutex> lock(mutex_);
    session_.insert(name);
    *result = new DiskWriter(*folder_, name, descriptor, is_log);
    return Status::OK();
  }
  if (*is_sealed_) return Failed(CLDB_READ_ONLY, path, "the database is open for reading only");
  auto file = std::make_shared<StagedFile>(path, is_log, is_sealed_);
  std::lock_guard<std::mutex> lock(mutex_);
  staged_[name] = file;
  *result = new StagedWriter(std::move(file));
  if (FileName::Parse(name).kind == Kind::kManifest) {
    std::unique_ptr<leveldb::WritableFile> writer(*result);
    *result = new ManifestWriter(std::move(writer), [this](uint64_t log) { return FirstSequence(log); });
  }
  return Status::OK();
}

uint64_t StagedEnv::FirstSequence(uint64_t log) const {
  // The first record has its sequence number first.
  char start[RecordJoiner::kHeaderSize + 8];
  size_t count = 0;
  const std::string name = FileName::Of(Kind::kLog, log);
  if (is_writing()) {
    int descriptor;
    uint64_t size;
    if (!folder_->OpenForReading(name, &descriptor, &size).ok()) return 0;
    if (!folder_->Read(descriptor, name, 0, sizeof start, start, &count).ok()) count = 0;
    cfiles_close(descriptor);
  } else {
    // Any other log on disk is a leftover that is to be replaced.
    std::lock_guard<std::mutex> lock(mutex_);
    if (kept_log_ == nullptr || kept_log_name_ != name) return 0;
    Slice bytes;
    if (kept_log_->Read(0, sizeof start, &bytes, start).ok()) count = bytes.size();
  }
  return count < sizeof start ? 0 : ReadFixed64(start + RecordJoiner::kHeaderSize);
}

Status StagedEnv::NewAppendableFile(const std::string& path, leveldb::WritableFile** result) {
  // Called for the manifest and for the last log. A closed file is never appended to, because after a failed flush it
  // must not be flushed again. LevelDB makes a new manifest, and a small log is copied here.
  *result = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  std::lock_guard<std::mutex> lock(mutex_);
  if (kept_log_name_ != name || kept_log_ != nullptr)
    return Status::NotSupported(path, "files are never appended to after they were closed");
  kept_log_ranges_ = ReadKeyRanges(kept_log_bytes_);
  kept_log_ = std::make_shared<StagedFile>(path, true, is_sealed_);
  status = kept_log_->Append(kept_log_bytes_);
  kept_log_bytes_ = std::string();
  staged_[name] = kept_log_;
  *result = new StagedWriter(kept_log_);
  return status;
}

bool StagedEnv::FileExists(const std::string& path) {
  // Called only for CURRENT, while LevelDB opens.
  std::string name;
  if (!folder_->NameOf(path, &name).ok()) return false;
  return Find(name) != nullptr || inventory_.names.count(name) > 0;
}

Status StagedEnv::GetChildren(const std::string&, std::vector<std::string>* names) {
  if (is_writing()) return folder_->List(names);
  std::lock_guard<std::mutex> lock(mutex_);
  std::set<std::string> merged;
  // A new database ignores leftovers of an unfinished creation.
  for (const std::string& name : inventory_.names) {
    if (inventory_.has_database && hidden_.count(name) == 0) merged.insert(name);
  }
  for (const auto& file : staged_) merged.insert(file.first);
  names->assign(merged.begin(), merged.end());
  return Status::OK();
}

Status StagedEnv::RemoveFile(const std::string& path) {
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_writing()) {
    staged_.erase(name);
    if (inventory_.names.count(name) > 0) hidden_.insert(name);
    return Status::OK();
  }
  if (session_.count(name) == 0) return Status::NotSupported(path, "the file came from elsewhere");
  status = folder_->Remove(name);
  if (status.ok()) session_.erase(name);
  return status;
}

Status StagedEnv::CreateDir(const std::string&) {
  // The folder was created and flushed before LevelDB opens it.
  return Status::OK();
}

Status StagedEnv::RemoveDir(const std::string& path) {
  return Status::NotSupported(path, "folders are never removed");
}

Status StagedEnv::GetFileSize(const std::string& path, uint64_t* size) {
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  if (auto file = Find(name)) {
    *size = file->bytes().size();
    return Status::OK();
  }
  if (name == kept_log_name_) {
    // The size without a torn tail.
    *size = kept_log_bytes_.size();
    return Status::OK();
  }
  bool exists;
  status = folder_->Find(name, &exists, size);
  return status.ok() && !exists ? Failed(CLDB_DAMAGED, path, "the file is missing") : status;
}

Status StagedEnv::RenameFile(const std::string& from, const std::string& to) {
  // LevelDB renames only what it has just made, while it opens: CURRENT.
  std::string name, new_name;
  Status status = folder_->NameOf(from, &name);
  if (status.ok()) status = folder_->NameOf(to, &new_name);
  if (!status.ok()) return status;
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = staged_.find(name);
  if (found == staged_.end()) return Status::NotSupported(from, "files are renamed at opening only");
  staged_[new_name] = found->second;
  staged_.erase(name);
  return Status::OK();
}

// MARK: Locks, notes and threads

Status StagedEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  // The file is locked before anything is read. A read-only database relies on the journal's own lock.
  *lock = new HeldLock;
  return Status::OK();
}

Status StagedEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  lock_.reset();
  return Status::OK();
}

Status StagedEnv::NewLogger(const std::string&, leveldb::Logger** result) {
  *result = new NullLogger;
  return Status::OK();
}

void StagedEnv::Schedule(void (*function)(void*), void* argument) {
  worker_.Schedule([this, function, argument] {
    // An exception on the worker's thread would end the process.
    try {
      function(argument);
    } catch (...) {
      cldb_status status;
      TranslateException(&status);
      Break(std::string("a compaction failed: ") + status.message);
    }
  });
}

}  // namespace cldb
