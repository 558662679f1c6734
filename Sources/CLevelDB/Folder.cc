#include "Folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "CFiles.h"
#include "Failure.h"

namespace cldb {

using leveldb::Status;

namespace {

// Flushes down to the drive. For a file, its bytes and what is needed to find them.
int SyncDescriptor(int descriptor, bool is_folder) { return -cfiles_flush(descriptor, is_folder); }

std::string ParentOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What LevelDB leaves if it dies while it makes a database. Every open makes files with higher numbers
// before anything can be written, so nothing that was ever stored can hide behind these names.
bool IsLeftOfCreation(const std::string& name) {
  return name == "LOCK" || name == "MANIFEST-000001" || name == "000001.dbtmp";
}

}  // namespace

Status Folder::Open(const std::string& path, bool make, cldb_hook hook, void* hook_context,
                    std::unique_ptr<Folder>* result) {
  // A slash at the end would make the system follow a link there.
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  if (trimmed.empty()) return Status::InvalidArgument("the path of the database is empty");
  std::unique_ptr<Folder> folder(new Folder(trimmed, hook, hook_context));
  if (make) {
    Status made = folder->Make();
    if (!made.ok()) return made;
  }
  folder->descriptor_ = ::open(trimmed.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder->descriptor_ < 0) {
    int error = errno;
    if (error == ELOOP || error == ENOTDIR)
      return Status::Corruption(trimmed, "this is not a folder, or a symbolic link to one");
    return SystemError(trimmed, "the folder can't be opened", error);
  }
  *result = std::move(folder);
  return Status::OK();
}

Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status Folder::Make() {
  struct stat info;
  bool exists = ::lstat(path_.c_str(), &info) == 0;
  // A folder with a CURRENT was flushed when that was made. Without, it may come from a process that died
  // between making the folder and flushing its parent, so it is flushed again.
  if (exists && ::lstat(PathOf("CURRENT").c_str(), &info) == 0) return Status::OK();
  if (!exists) {
    if (int error = Ask(CLDB_MAKE_FOLDER, path_))
      return SystemError(path_, "the folder can't be made", error);
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
      return SystemError(path_, "the folder can't be made", errno);
  }
  std::string parent = ParentOf(path_);
  int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(parent, "the folder can't be opened", errno);
  int error = Ask(CLDB_SYNC_FOLDER, parent);
  if (error == 0) error = SyncDescriptor(descriptor, true);
  ::close(descriptor);
  if (error != 0) return SystemError(parent, "the folder can't be flushed", error);
  return Status::OK();
}

Status Folder::NameOf(const std::string& path, std::string* name) const {
  size_t prefix = path_.size();
  bool inside = path.size() > prefix + 1 && path.compare(0, prefix, path_) == 0 && path[prefix] == '/';
  if (inside) *name = path.substr(prefix + 1);
  if (!inside || name->find('/') != std::string::npos || *name == "." || *name == "..")
    return Status::Corruption(path, "the database names a file outside of its folder");
  return Status::OK();
}

Status Folder::Inspect(Content* content) const {
  std::vector<std::string> names;
  Status listed = List(&names);
  if (!listed.ok()) return listed;
  *content = Content::kEmpty;
  for (const std::string& name : names) {
    if (cfiles_is_litter(name.c_str())) continue;
    struct stat info;
    if (::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return SystemError(PathOf(name), "the file can't be looked at", errno);
    if (!S_ISREG(info.st_mode))
      return Status::Corruption(PathOf(name), "this is not a plain file, and does not belong here");
    if (name == "CURRENT") {
      *content = Content::kDatabase;
    } else if (*content == Content::kEmpty && !IsLeftOfCreation(name)) {
      *content = Content::kNoCurrent;
    }
  }
  return Status::OK();
}

Status Folder::List(std::vector<std::string>* names) const {
  names->clear();
  // A descriptor of its own, since reading a folder moves the position of its descriptor.
  int descriptor = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(path_, "the folder can't be opened", errno);
  DIR* stream = ::fdopendir(descriptor);
  if (stream == nullptr) {
    int error = errno;
    ::close(descriptor);
    return SystemError(path_, "the folder can't be read", error);
  }
  errno = 0;
  while (struct dirent* entry = ::readdir(stream)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(std::move(name));
    errno = 0;
  }
  int error = errno;
  ::closedir(stream);
  if (error != 0) return SystemError(path_, "the folder can't be read", error);
  return Status::OK();
}

bool Folder::Exists(const std::string& name) const {
  struct stat info;
  return ::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

Status Folder::SizeOf(const std::string& name, uint64_t* size) const {
  struct stat info;
  if (::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return SystemError(PathOf(name), "the file can't be looked at", errno);
  *size = static_cast<uint64_t>(info.st_size);
  return Status::OK();
}

Status Folder::OpenForReading(const std::string& name, int* descriptor, uint64_t* size) const {
  // O_NONBLOCK, so that a pipe under the name of a table can't hold the process.
  int opened = ::openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (opened < 0) {
    if (errno == ELOOP) return Status::Corruption(PathOf(name), "this is a symbolic link");
    return SystemError(PathOf(name), "the file can't be opened", errno);
  }
  struct stat info;
  if (::fstat(opened, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(opened);
    return Status::Corruption(PathOf(name), "this is not a plain file");
  }
  *descriptor = opened;
  *size = static_cast<uint64_t>(info.st_size);
  return Status::OK();
}

Status Folder::OpenMarker(const std::string& name, int* descriptor) {
  if (!Exists(name)) {
    if (int error = Ask(CLDB_CREATE, PathOf(name)))
      return SystemError(PathOf(name), "the file can't be made", error);
  }
  *descriptor = ::openat(descriptor_, name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (*descriptor < 0) return SystemError(PathOf(name), "the file can't be opened", errno);
  return Status::OK();
}

Status Folder::Create(const std::string& name, int* descriptor) {
  if (poisoned()) return Refusal();
  if (int error = Ask(CLDB_CREATE, PathOf(name)))
    return Failure(PathOf(name), "the file can't be made", error);
  // Truncated, not O_EXCL: LevelDB uses a number again that a crash left without a manifest's record.
  *descriptor = ::openat(descriptor_, name.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (*descriptor < 0) return Failure(PathOf(name), "the file can't be made", errno);
  return Status::OK();
}

Status Folder::Write(int descriptor, const std::string& name, const char* bytes, size_t count,
                     uint64_t* offset) {
  if (poisoned()) return Refusal();
  while (count > 0) {
    size_t part = count;
    if (hook_ != nullptr) {
      std::string path = PathOf(name);
      cldb_operation operation = {CLDB_WRITE, path.c_str(), nullptr, bytes, count, *offset};
      if (int error = hook_(hook_context_, &operation, &part))
        return Failure(path, "the file can't be written", error);
      part = std::min(part, count);
    }
    ssize_t written = part == 0 ? 0 : ::write(descriptor, bytes, part);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failure(PathOf(name), "the file can't be written", written < 0 ? errno : EIO);
    bytes += written;
    count -= static_cast<size_t>(written);
    *offset += static_cast<uint64_t>(written);
  }
  return Status::OK();
}

Status Folder::SyncFile(int descriptor, const std::string& name) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_SYNC, hook_ == nullptr ? path_ : PathOf(name));
  if (error == 0) error = SyncDescriptor(descriptor, false);
  if (error != 0) return Failure(PathOf(name), "the file can't be flushed to the drive", error);
  return Status::OK();
}

Status Folder::CloseFile(int descriptor, const std::string& name) {
  // Some file systems report a failed write only here. The descriptor is gone in either case.
  if (::close(descriptor) != 0 && errno != EINTR)
    return Failure(PathOf(name), "the file can't be closed", errno);
  return Status::OK();
}

Status Folder::SyncFolder() {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_SYNC_FOLDER, path_);
  if (error == 0) error = SyncDescriptor(descriptor_, true);
  if (error != 0) return Failure(path_, "the folder can't be flushed to the drive", error);
  return Status::OK();
}

Status Folder::Rename(const std::string& from, const std::string& to) {
  if (poisoned()) return Refusal();
  int error = 0;
  if (hook_ != nullptr) {
    std::string path = PathOf(from), new_path = PathOf(to);
    cldb_operation operation = {CLDB_RENAME, path.c_str(), new_path.c_str(), nullptr, 0, 0};
    size_t count = 0;
    error = hook_(hook_context_, &operation, &count);
  }
  if (error == 0 && ::renameat(descriptor_, from.c_str(), descriptor_, to.c_str()) != 0) error = errno;
  if (error != 0) return Failure(PathOf(to), "the file can't be put in its place", error);
  return SyncFolder();
}

Status Folder::Remove(const std::string& name) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_REMOVE, PathOf(name));
  if (error == 0 && ::unlinkat(descriptor_, name.c_str(), 0) != 0) error = errno;
  if (error != 0) return SystemError(PathOf(name), "the file can't be removed", error);
  return Status::OK();
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
  if (hook_ == nullptr) return 0;
  cldb_operation operation = {kind, path.c_str(), nullptr, nullptr, 0, 0};
  size_t count = 0;
  return hook_(hook_context_, &operation, &count);
}

Status Folder::Refusal() const {
  return Status::IOError(path_, "nothing more is written after a failure (" + poison_reason() + ")");
}

Status Folder::Failure(const std::string& path, const char* what, int error) {
  Status status = SystemError(path, what, error);
  Poison(status.ToString());
  return status;
}

}  // namespace cldb
