#include "Folder.h"

#include <algorithm>
#include <cerrno>

#include "CFiles.h"
#include "Failure.h"

namespace cldb {

using leveldb::Status;

namespace {

std::string ParentOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Status Folder::Open(const std::string& path, int descriptor, bool make, const Hooks& hooks,
                    std::unique_ptr<Folder>* result) {
  // A slash at the end would make the system follow a link there.
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  if (trimmed.empty()) return Status::InvalidArgument("the path of the database is empty");
  std::unique_ptr<Folder> folder(new Folder(trimmed, hooks));
  if (descriptor == CLDB_BY_PATH) {
    if (make) {
      Status made = folder->Make();
      if (!made.ok()) return made;
    }
    folder->descriptor_ = cfiles_open(cfiles_current_folder(), trimmed.c_str(), CFILES_FOLDER, false, 0);
  } else {
    folder->descriptor_ = cfiles_open(descriptor, ".", CFILES_FOLDER, false, 0);
  }
  if (folder->descriptor_ < 0) {
    int error = -folder->descriptor_;
    if (error == ELOOP || error == ENOTDIR)
      return Failed(CLDB_DAMAGED, trimmed, "this is not a folder, or a symbolic link to one");
    if (error == ENOENT) return Failed(CLDB_NOT_FOUND, trimmed, "there is no such folder", error);
    return SystemError(trimmed, "the folder can't be opened", error);
  }
  *result = std::move(folder);
  return Status::OK();
}

Folder::~Folder() {
  if (descriptor_ >= 0) cfiles_close(descriptor_);
}

Status Folder::Make() {
  cfiles_status info;
  bool exists = cfiles_status_of_name(cfiles_current_folder(), path_.c_str(), &info) == 0;
  // A folder with a CURRENT was flushed before that. Without one, a process may have died between creating the folder
  // and flushing its parent, so it is flushed again.
  const bool is_made = exists && cfiles_status_of_name(cfiles_current_folder(), PathOf("CURRENT").c_str(), &info) == 0;
  if (is_made) return Status::OK();
  if (!exists) {
    if (int error = Ask(CLDB_MAKE_FOLDER, path_))
      return SystemError(path_, "the folder can't be created", error);
    int error = -cfiles_make_folder(cfiles_current_folder(), path_.c_str(), 0700);
    if (error == ENOENT) return Failed(CLDB_NOT_FOUND, path_, "there is no folder to create it in", ENOENT);
    if (error != 0 && error != EEXIST) return SystemError(path_, "the folder can't be created", error);
  }
  std::string parent = ParentOf(path_);
  int descriptor = cfiles_open(cfiles_current_folder(), parent.c_str(), CFILES_FOLDER, true, 0);
  if (descriptor == -ENOENT) return Failed(CLDB_NOT_FOUND, parent, "there is no such folder", ENOENT);
  if (descriptor < 0) return SystemError(parent, "the folder can't be opened", -descriptor);
  int error = Ask(CLDB_SYNC_FOLDER, parent);
  if (error == 0) error = -cfiles_flush(descriptor, true);
  cfiles_close(descriptor);
  if (error != 0) return SystemError(parent, "the folder can't be flushed", error);
  return Status::OK();
}

Status Folder::NameOf(const std::string& path, std::string* name) const {
  size_t prefix = path_.size();
  bool inside = path.size() > prefix + 1 && path.compare(0, prefix, path_) == 0 && path[prefix] == '/';
  if (inside) *name = path.substr(prefix + 1);
  if (!inside || name->find('/') != std::string::npos || *name == "." || *name == "..")
    return Failed(CLDB_DAMAGED, path, "the database names a file outside of its folder");
  return Status::OK();
}

Status Folder::List(std::vector<std::string>* names) const {
  names->clear();
  const auto add = [](void* names, const char* name, int) {
    static_cast<std::vector<std::string>*>(names)->push_back(name);
    return true;
  };
  int error = -cfiles_list(descriptor_, add, names);
  return error == 0 ? Status::OK() : SystemError(path_, "the folder can't be read", error);
}

Status Folder::Find(const std::string& name, bool* exists, uint64_t* size) const {
  cfiles_status info;
  int error = StatusOf(name, &info);
  *exists = error == 0;
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

Status Folder::OpenForReading(const std::string& name, int* descriptor, uint64_t* size) const {
  int opened = cfiles_open(descriptor_, name.c_str(), CFILES_READ, false, 0);
  if (opened == -ELOOP) return Failed(CLDB_DAMAGED, PathOf(name), "this is a symbolic link");
  if (opened == -ENOENT) return Failed(CLDB_DAMAGED, PathOf(name), "the file is missing", ENOENT);
  if (opened < 0) return SystemError(PathOf(name), "the file can't be opened", -opened);
  cfiles_status info;
  int error = -cfiles_status_of(opened, &info);
  if (error == 0 && info.kind == CFILES_IS_FILE) {
    *descriptor = opened;
    *size = info.byte_count;
    return Status::OK();
  }
  cfiles_close(opened);
  if (error == 0) return Failed(CLDB_DAMAGED, PathOf(name), "this is not a plain file");
  return SystemError(PathOf(name), "the file can't be examined", error);
}

Status Folder::Read(int descriptor, const std::string& name, uint64_t offset, size_t count, char* bytes,
                    size_t* read) const {
  *read = 0;
  while (*read < count) {
    size_t part = count - *read;
    if (hooks_.read != nullptr) {
      if (int error = hooks_.read(hooks_.read_context, PathOf(name).c_str(), &part))
        return SystemError(PathOf(name), "the file can't be read", error);
      part = std::min(part, count - *read);
    }
    int64_t got = cfiles_read(descriptor, bytes + *read, part, offset + *read);
    if (got < 0) return SystemError(PathOf(name), "the file can't be read", static_cast<int>(-got));
    if (got == 0) break;
    *read += static_cast<size_t>(got);
  }
  return Status::OK();
}

Status Folder::OpenMarker(const std::string& name, int* descriptor) {
  bool exists;
  uint64_t size;
  Status found = Find(name, &exists, &size);
  if (!found.ok()) return found;
  if (!exists) {
    if (int error = Ask(CLDB_CREATE, PathOf(name)))
      return SystemError(PathOf(name), "the file can't be created", error);
  }
  *descriptor = cfiles_open(descriptor_, name.c_str(), exists ? CFILES_UPDATE : CFILES_CREATE, false, 0600);
  if (*descriptor < 0) return SystemError(PathOf(name), "the file can't be opened", -*descriptor);
  return Status::OK();
}

Status Folder::Create(const std::string& name, int* descriptor) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_CREATE, PathOf(name));
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
    if (hooks_.change != nullptr) {
      std::string path = PathOf(name);
      cldb_operation operation = {CLDB_WRITE, path.c_str(), nullptr, bytes, count, *offset};
      if (int error = hooks_.change(hooks_.change_context, &operation, &part)) return error;
      part = std::min(part, count);
    }
    int error = part == 0 ? EIO : -cfiles_write(descriptor, bytes, part, *offset);
    if (error != 0) return error;
    bytes += part;
    count -= part;
    *offset += part;
  }
  return 0;
}

Status Folder::SyncFile(int descriptor, const std::string& name) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_SYNC, hooks_.change == nullptr ? path_ : PathOf(name));
  if (error == 0) error = -cfiles_flush(descriptor, false);
  if (error != 0) return Failure(PathOf(name), "the file can't be flushed to the drive", error);
  return Status::OK();
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
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_SYNC_FOLDER, path_);
  if (error == 0) error = -cfiles_flush(descriptor_, true);
  if (error != 0) return Failure(path_, "the folder can't be flushed to the drive", error);
  return Status::OK();
}

Status Folder::Rename(const std::string& from, const std::string& to) {
  if (poisoned()) return Refusal();
  int error = 0;
  if (hooks_.change != nullptr) {
    std::string path = PathOf(from), new_path = PathOf(to);
    cldb_operation operation = {CLDB_RENAME, path.c_str(), new_path.c_str(), nullptr, 0, 0};
    size_t count = 0;
    error = hooks_.change(hooks_.change_context, &operation, &count);
  }
  if (error == 0) error = -cfiles_rename(descriptor_, from.c_str(), descriptor_, to.c_str());
  if (error != 0) return Failure(PathOf(to), "the file can't be renamed", error);
  return SyncFolder();
}

Status Folder::Remove(const std::string& name) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_REMOVE, PathOf(name));
  if (error == 0) error = -cfiles_remove_file(descriptor_, name.c_str());
  if (error != 0) return SystemError(PathOf(name), "the file can't be removed", error);
  return Status::OK();
}

void Folder::Discard(const std::string& name) {
  if (Ask(CLDB_REMOVE, PathOf(name)) == 0) cfiles_remove_file(descriptor_, name.c_str());
}

void Folder::Poison(const std::string& reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!poisoned_.exchange(true, std::memory_order_acq_rel)) poison_reason_ = reason;
}

std::string Folder::poison_reason() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return poison_reason_;
}

int Folder::Ask(cldb_operation_kind kind, const std::string& path) const {
  if (hooks_.change == nullptr) return 0;
  cldb_operation operation = {kind, path.c_str(), nullptr, nullptr, 0, 0};
  size_t count = 0;
  return hooks_.change(hooks_.change_context, &operation, &count);
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
