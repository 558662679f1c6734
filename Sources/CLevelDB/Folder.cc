#include "Folder.h"

#include <algorithm>
#include <cerrno>

#include "CFiles.h"
#include "Failure.h"

namespace cldb {

using leveldb::Status;

Status Folder::Open(const std::string& path, int descriptor, cldb_hook hook, void* context,
                    std::unique_ptr<Folder>* result) {
  const int opened = cfiles_open(descriptor, ".", CFILES_FOLDER, false, 0);
  if (opened < 0) return SystemError(path, "the folder can't be opened", -opened);
  result->reset(new Folder(path, opened, hook, context));
  return Status::OK();
}

Folder::~Folder() { cfiles_close(descriptor_); }

Status Folder::List(std::vector<std::string>* names) const {
  names->clear();
  const auto add = [](void* names, const char* name, int) {
    static_cast<std::vector<std::string>*>(names)->push_back(name);
    return true;
  };
  int error = -cfiles_list(descriptor_, add, names);
  return error == 0 ? Status::OK() : SystemError(path_, "the folder can't be read", error);
}

Status Folder::Find(const std::string& name, std::optional<uint64_t>* size) const {
  cfiles_status info;
  int error = StatusOf(name, &info);
  size->reset();
  if (error == ENOENT) return Status::OK();
  if (error != 0) return SystemError(PathOf(name), "the file can't be examined", error);
  if (info.kind != CFILES_IS_FILE)
    return Failed(CLDB_DAMAGED, PathOf(name), "this is not a plain file, so it is not part of the database");
  *size = info.byte_count;
  return Status::OK();
}

int Folder::StatusOf(const std::string& name, cfiles_status* status) const {
  return -cfiles_status_of_name(descriptor_, name.c_str(), status);
}

Status Folder::OpenForReading(const std::string& name, OpenFile* result) const {
  const int opened = cfiles_open(descriptor_, name.c_str(), CFILES_READ, false, 0);
  if (opened == -ELOOP) return Failed(CLDB_DAMAGED, PathOf(name), "this is a symbolic link");
  if (opened == -ENOENT) return Failed(CLDB_DAMAGED, PathOf(name), "the file is missing", ENOENT);
  if (opened < 0) return SystemError(PathOf(name), "the file can't be opened", -opened);
  result->descriptor = opened;
  result->name = name;
  cfiles_status info;
  const int error = -cfiles_status_of(opened, &info);
  if (error != 0) return SystemError(PathOf(name), "the file can't be examined", error);
  if (info.kind != CFILES_IS_FILE) return Failed(CLDB_DAMAGED, PathOf(name), "this is not a plain file");
  result->size = info.byte_count;
  return Status::OK();
}

Status Folder::Read(const OpenFile& file, uint64_t offset, size_t count, char* bytes, size_t* read) const {
  *read = 0;
  while (*read < count) {
    size_t part = count - *read;
    int64_t got = -Ask(CLDB_READ, file.name, nullptr, &part);
    if (got == 0) got = cfiles_read(file.descriptor, bytes + *read, part, offset + *read);
    if (got < 0) return SystemError(PathOf(file.name), "the file can't be read", static_cast<int>(-got));
    if (got == 0) break;
    *read += static_cast<size_t>(got);
  }
  return Status::OK();
}

Status Folder::OpenMarker(const std::string& name, int* descriptor) {
  std::optional<uint64_t> size;
  CLDB_TRY(Find(name, &size));
  const int error = size ? 0 : Ask(CLDB_CREATE, name);
  if (error != 0) return SystemError(PathOf(name), "the file can't be created", error);
  *descriptor = cfiles_open(descriptor_, name.c_str(), size ? CFILES_UPDATE : CFILES_CREATE, false, 0600);
  if (*descriptor < 0) return SystemError(PathOf(name), "the file can't be opened", -*descriptor);
  return Status::OK();
}

Status Folder::Create(const std::string& name, int* descriptor) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_CREATE, name);
  if (error == 0) {
    *descriptor = cfiles_open(descriptor_, name.c_str(), CFILES_CREATE, false, 0600);
    if (*descriptor >= 0) return Status::OK();
    error = -*descriptor;
  }
  // Without a free descriptor, the system has created nothing.
  if (error == EMFILE || error == ENFILE) return SystemError(PathOf(name), "the file can't be created", error);
  return Failure(PathOf(name), "the file can't be created", error);
}

Status Folder::Write(int descriptor, const std::string& name, const char* bytes, size_t count,
                     uint64_t* offset) {
  if (poisoned()) return Refusal();
  int error = WriteAll(descriptor, name, bytes, count, offset);
  return error == 0 ? Status::OK() : Failure(PathOf(name), "the file can't be written", error);
}

bool Folder::WriteZeros(int descriptor, const std::string& name, uint64_t offset, size_t count) {
  static const char zeros[kMostZeros] = {};
  return !poisoned() && WriteAll(descriptor, name, zeros, count, &offset) == 0;
}

int Folder::WriteAll(int descriptor, const std::string& name, const char* bytes, size_t count, uint64_t* offset) {
  while (count > 0) {
    size_t part = count;
    int error = Ask(CLDB_WRITE, name, nullptr, &part, bytes, *offset);
    if (error == 0) error = part == 0 ? EIO : -cfiles_write(descriptor, bytes, part, *offset);
    if (error != 0) return error;
    bytes += part;
    count -= part;
    *offset += part;
  }
  return 0;
}

Status Folder::SyncFile(int descriptor, const std::string& name) {
  return Change(CLDB_SYNC, name, "the file can't be flushed to the drive",
                [&] { return cfiles_flush(descriptor, false); });
}

Status Folder::CheckSize(int descriptor, const std::string& name, uint64_t written) {
  cfiles_status open;
  int error = -cfiles_status_of(descriptor, &open);
  if (error != 0) return Failure(PathOf(name), "the file can't be examined", error);
  if (open.byte_count >= written) return Status::OK();
  Status status = Failed(CLDB_DAMAGED, PathOf(name), "the file was truncated while the database was open");
  Poison(WordsOf(status));
  return status;
}

Status Folder::CheckIsInPlace(int descriptor, const std::string& name) {
  cfiles_status open, named;
  int error = -cfiles_status_of(descriptor, &open);
  if (error == 0) error = StatusOf(name, &named);
  if (error == 0 && named.device == open.device && named.inode == open.inode) return Status::OK();
  if (error != 0 && error != ENOENT) return Failure(PathOf(name), "the file can't be examined", error);
  Status status = Failed(CLDB_DAMAGED, PathOf(name), "the file was removed or replaced while the database was open");
  Poison(WordsOf(status));
  return status;
}

Status Folder::CloseFile(int descriptor, const std::string& name) {
  int error = -cfiles_close(descriptor);
  return error == 0 ? Status::OK() : Failure(PathOf(name), "the file can't be closed", error);
}

Status Folder::SyncFolder() {
  return Change(CLDB_SYNC_FOLDER, "", "the folder can't be flushed to the drive",
                [&] { return cfiles_flush(descriptor_, true); });
}

Status Folder::Change(cldb_operation_kind kind, const std::string& name, const char* what,
                      const std::function<int()>& call) {
  if (poisoned()) return Refusal();
  int error = Ask(kind, name);
  if (error == 0) error = -call();
  return error == 0 ? Status::OK() : Failure(PathOf(name), what, error);
}

Status Folder::Rename(const std::string& from, const std::string& to) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_RENAME, from, PathOf(to).c_str());
  if (error == 0) error = -cfiles_rename(descriptor_, from.c_str(), descriptor_, to.c_str());
  if (error != 0) return Failure(PathOf(to), "the file can't be renamed", error);
  return SyncFolder();
}

Status Folder::Remove(const std::string& name) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_REMOVE, name);
  if (error == 0) error = -cfiles_remove_file(descriptor_, name.c_str());
  if (error != 0) return SystemError(PathOf(name), "the file can't be removed", error);
  return Status::OK();
}

void Folder::Discard(const std::string& name) {
  if (Ask(CLDB_REMOVE, name) == 0) cfiles_remove_file(descriptor_, name.c_str());
}

void Folder::Poison(const std::string& reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!poisoned_.exchange(true, std::memory_order_acq_rel)) poison_reason_ = reason;
}

std::string Folder::poison_reason() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return poison_reason_;
}

int Folder::Ask(cldb_operation_kind kind, const std::string& name, const char* new_path, size_t* count,
                const char* bytes, uint64_t offset) const {
  if (hook_ == nullptr) return 0;
  const std::string path = PathOf(name);
  const size_t most = count == nullptr ? 0 : *count;
  size_t allowed = most;
  const cldb_operation operation = {kind, path.c_str(), new_path, bytes, most, offset};
  const int error = hook_(context_, &operation, &allowed);
  if (count != nullptr) *count = std::min(allowed, most);
  return error;
}

Status Folder::Refusal() const {
  return Failed(CLDB_POISONED, path_, "nothing more is written after a failure (" + poison_reason() + ")");
}

Status Folder::Failure(const std::string& path, const char* what, int error) {
  Status status = SystemError(path, what, error);
  Poison(WordsOf(status));
  return status;
}

}  // namespace cldb
