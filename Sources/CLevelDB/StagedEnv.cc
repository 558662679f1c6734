#include "StagedEnv.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "Failure.h"
#include "FileName.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;
using Kind = FileName::Kind;

namespace {

thread_local bool is_refused = false;

// LevelDB never recovers from a failure of background work. A lack of descriptors is temporary, so the work waits until
// some are free, but no longer than a writer should wait for the work.
constexpr auto kRest = std::chrono::milliseconds(10);
constexpr int kMostRests = 500;

class Writer final : public leveldb::WritableFile {
 public:
  explicit Writer(std::shared_ptr<NewFile> file) : file_(std::move(file)) {}
  // LevelDB itself does not close logs.
  ~Writer() override { file_->Close(); }
  Status Append(const Slice& data) override { return file_->Append(data); }
  Status Close() override { return file_->Close(); }
  Status Flush() override { return file_->Flush(); }
  Status Sync() override { return file_->Sync(); }

 private:
  const std::shared_ptr<NewFile> file_;
};

class NewTable final : public leveldb::RandomAccessFile {
 public:
  explicit NewTable(std::shared_ptr<NewFile> file) : file_(std::move(file)) {}
  Status Read(uint64_t offset, size_t count, Slice* result, char* scratch) const override {
    return file_->Read(offset, count, result, scratch);
  }

 private:
  const std::shared_ptr<NewFile> file_;
};

class BytesReader final : public leveldb::SequentialFile {
 public:
  explicit BytesReader(std::string bytes) : bytes_(std::move(bytes)), rest_(bytes_) {}
  Status Read(size_t count, Slice* result, char*) override {
    *result = Slice(rest_.data(), std::min(count, rest_.size()));
    return Skip(count);
  }
  Status Skip(uint64_t count) override {
    rest_.remove_prefix(std::min<uint64_t>(count, rest_.size()));
    return Status::OK();
  }

 private:
  const std::string bytes_;
  Slice rest_;
};

}  // namespace

StagedEnv::StagedEnv(std::unique_ptr<Folder> folder, Inventory inventory, std::unique_ptr<LockedFile> lock,
                     size_t kept_log_size)
    : leveldb::EnvWrapper(leveldb::Env::Default()),
      folder_(std::move(folder)),
      inventory_(std::move(inventory)),
      lock_(std::move(lock)),
      kept_log_size_(kept_log_size) {}

bool StagedEnv::TakeRefusal() { return std::exchange(is_refused, false); }

Status StagedEnv::WaitingForDescriptors(const std::function<Status()>& open) {
  Status status = open();
  for (int rests = 0; IsShortOfDescriptors(status) && rests < kMostRests && worker_.Rest(kRest); rests++)
    status = open();
  return status;
}

// MARK: From memory to disk

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
    const bool takes_name = file.first == "CURRENT" || IsKeptLog(file.second);
    if (inventory_.names.count(file.first) > 0 && !takes_name) replaced.insert(file.first);
    // CURRENT (with the manifest's number) and a kept log are written under a temporary name, and then renamed.
    FileName name = FileName::Parse(file.first);
    if (name.kind == Kind::kManifest || IsKeptLog(file.second)) {
      std::string temporary = FileName::Of(Kind::kTemporary, name.number);
      if (inventory_.names.count(temporary) > 0) replaced.insert(temporary);
    }
  }
  removed.insert(replaced.begin(), replaced.end());
  for (const std::string& name : removed) {
    CLDB_TRY(CheckLeftover(name, holds, key));
  }

  if (lock_ == nullptr) CLDB_TRY(LockedFile::Acquire(*folder_, &lock_));
  for (const std::string& name : replaced) CLDB_TRY(folder_->Remove(name));
  std::vector<std::string> made;
  Status status = PutAll(staged, &made);
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
  }
  is_writing_.store(true, std::memory_order_release);
  for (const std::string& name : removed) {
    // If the removal fails, the file only costs space, and the next opening removes it.
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
      // When LevelDB reads a log, the log leaves `contents`.
      if (inventory_.contents.count(name) == 0) return Status::OK();
      return Failed(CLDB_IO, folder_->PathOf(name), "LevelDB has not read this log");
    }
    RecordFile log;
    CLDB_TRY(RecordFile::Read(*folder_, name, RecordFile::Kind::kLog, &log));
    ranges = ReadKeyRanges(log.bytes);
  } else if (kind == Kind::kTable) {
    std::unique_ptr<TableCursor> table;
    Status status = TableCursor::Open(*folder_, name, nullptr, &table);
    if (status.ok()) status = table->AddRanges(&ranges);
    // The table was unfinished at a crash. The files that it was made from exist, or the database would lack tables.
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
  // The order: tables and logs, the manifest that names the tables, and CURRENT, which names the manifest.
  for (Kind kind : {Kind::kTable, Kind::kLog, Kind::kManifest}) {
    for (const auto& file : staged) {
      FileName name = FileName::Parse(file.first);
      if (name.kind != kind) continue;
      const bool is_kept_log = IsKeptLog(file.second);
      made->push_back(is_kept_log ? FileName::Of(Kind::kTemporary, name.number) : file.first);
      CLDB_TRY(file.second->Put(made->back()));
      if (is_kept_log) CLDB_TRY(file.second->Rename(file.first));
      // A kept log has the same entries and the same name as before, so there is nothing to undo.
      if (is_kept_log) made->pop_back();
      if (kind == Kind::kManifest) temporary = FileName::Of(Kind::kTemporary, name.number);
    }
  }
  auto current = staged.find("CURRENT");
  if (current == staged.end() || temporary.empty())
    return Failed(CLDB_IO, folder_->path(), "the database has no manifest");
  made->push_back(temporary);
  CLDB_TRY(current->second->Put(temporary));
  Status status = folder_->Rename(temporary, "CURRENT");
  if (!status.ok()) {
    // If the rename took effect nevertheless, CURRENT names the new files, which must stay.
    std::optional<uint64_t> size;
    if (!folder_->Find(temporary, &size).ok() || !size) made->clear();
  }
  return status;
}

// MARK: Files

std::shared_ptr<NewFile> StagedEnv::Find(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = staged_.find(name);
  return found == staged_.end() ? nullptr : found->second;
}

Status StagedEnv::NewSequentialFile(const std::string& path, leveldb::SequentialFile** result) {
  *result = nullptr;
  const std::string name = folder_->NameOf(path);
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
  const std::string name = folder_->NameOf(path);
  if (auto file = Find(name)) {
    *result = new NewTable(std::move(file));
    return Status::OK();
  }
  std::unique_ptr<TableFile> table;
  const TableInfo* info = nullptr;
  const uint64_t number = FileName::Parse(name).number;
  for (const TableInfo& known : inventory_.manifest.tables) {
    if (known.number == number) info = &known;
  }
  Status status = WaitingForDescriptors([&] { return TableFile::Open(*folder_, name, info, &table); });
  *result = table.release();
  return status;
}

Status StagedEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** result) {
  *result = nullptr;
  const std::string name = folder_->NameOf(path);
  const bool is_log = FileName::Parse(name).kind == Kind::kLog;
  if (!is_writing() && is_sealed_) return Failed(CLDB_READ_ONLY, path, "the database is open for reading only");
  const auto first_sequence = [this](uint64_t log) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string wanted = FileName::Of(Kind::kLog, log);
    for (const Log* known : {&log_, &previous_log_}) {
      if (known->file != nullptr && known->name == wanted) return known->file->first_sequence();
    }
    return uint64_t(0);
  };
  auto file = std::make_shared<NewFile>(*folder_, name, is_sealed_, first_sequence);
  if (is_writing()) {
    Status status = WaitingForDescriptors([&] { return file->Put(name); });
    if (is_log) is_refused = IsShortOfDescriptors(status);
    if (!status.ok()) return status;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_writing()) {
    session_.insert(name);
  } else {
    staged_[name] = file;
  }
  if (is_log) previous_log_ = std::exchange(log_, {name, file});
  *result = new Writer(std::move(file));
  return Status::OK();
}

Status StagedEnv::NewAppendableFile(const std::string& path, leveldb::WritableFile** result) {
  // LevelDB calls this for the manifest and the last log. A closed file is never appended to, because it must not be
  // flushed again after a failed flush. LevelDB makes a new manifest instead, and a small log is copied here.
  *result = nullptr;
  const std::string name = folder_->NameOf(path);
  std::lock_guard<std::mutex> lock(mutex_);
  if (kept_log_name_ != name) return Status::NotSupported(path, "files are never appended to after they were closed");
  log_ = {name, std::make_shared<NewFile>(*folder_, name, is_sealed_, nullptr)};
  Status status = log_.file->Append(kept_log_bytes_);
  kept_log_bytes_ = std::string();
  staged_[name] = log_.file;
  *result = new Writer(log_.file);
  return status;
}

bool StagedEnv::FileExists(const std::string& path) {
  // LevelDB calls this only for CURRENT, while it opens.
  const std::string name = folder_->NameOf(path);
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
  const std::string name = folder_->NameOf(path);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_writing()) {
    staged_.erase(name);
    if (inventory_.names.count(name) > 0) hidden_.insert(name);
    return Status::OK();
  }
  if (session_.count(name) == 0) return Status::NotSupported(path, "the file came from elsewhere");
  Status status = folder_->Remove(name);
  if (status.ok()) session_.erase(name);
  return status;
}

Status StagedEnv::CreateDir(const std::string&) {
  // The folder was created and flushed before LevelDB opens it.
  return Status::OK();
}

Status StagedEnv::GetFileSize(const std::string& path, uint64_t* size) {
  // LevelDB calls this before `NewAppendableFile`. The size is that of the log without a torn tail.
  if (folder_->NameOf(path) != kept_log_name_) return Status::NotSupported(path, "only a log is appended to");
  *size = kept_log_bytes_.size();
  return Status::OK();
}

Status StagedEnv::RenameFile(const std::string& from, const std::string& to) {
  // LevelDB renames only the new CURRENT, while it opens.
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = staged_.find(folder_->NameOf(from));
  if (found == staged_.end()) return Status::NotSupported(from, "files are renamed at opening only");
  staged_[folder_->NameOf(to)] = found->second;
  staged_.erase(found);
  return Status::OK();
}

// MARK: Locks and threads

Status StagedEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  // LOCK is locked elsewhere, before anything is written. A read-only database relies on the journal's own lock.
  *lock = new leveldb::FileLock;
  return Status::OK();
}

Status StagedEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  lock_.reset();
  return Status::OK();
}

void StagedEnv::Schedule(void (*function)(void*), void* argument) {
  worker_.Schedule([function, argument] { function(argument); });
}

}  // namespace cldb
