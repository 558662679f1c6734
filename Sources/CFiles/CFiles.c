#define _GNU_SOURCE

#include "CFiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/sysmacros.h>
#include <sys/random.h>
#endif
#if defined(__APPLE__)
#include <sys/param.h>
#include <sys/random.h>
#endif

// Repeats a call while a signal interrupts it, and assigns its result or -errno.
#define CALL(result, call)                            \
  do {                                                \
    while ((result = (call)) == -1 && errno == EINTR) \
      ;                                               \
    if (result == -1) result = -errno;                \
  } while (0)

#define RETURN(call)    \
  do {                  \
    int result;         \
    CALL(result, call); \
    return result;      \
  } while (0)

// The id of this process; 0 if it is not known yet.
static _Atomic int process;

static void forget_process(void) { process = 0; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_process); }

int cfiles_process(void) {
  int known = atomic_load_explicit(&process, memory_order_relaxed);
  if (known == 0) process = known = getpid();
  return known;
}

int cfiles_current_folder(void) { return AT_FDCWD; }

int cfiles_open(int folder, const char *name, int access, bool follows_links, unsigned mode) {
  int flags = O_CLOEXEC;
  if (!follows_links) flags |= O_NOFOLLOW;
  switch (access) {
    case CFILES_READ: flags |= O_RDONLY | O_NONBLOCK; break;
    case CFILES_UPDATE: flags |= O_RDWR | O_NONBLOCK; break;
    case CFILES_CREATE: flags |= O_RDWR | O_CREAT | O_EXCL; break;
    case CFILES_FOLDER: flags |= O_RDONLY | O_DIRECTORY; break;
    default: return -EINVAL;
  }
  int descriptor;
  CALL(descriptor, openat(folder, name, flags, (mode_t)mode));
  // Systems differ in the error for a link when both O_NOFOLLOW and O_DIRECTORY are set.
  if (descriptor == -ENOTDIR || descriptor == -EMLINK) {
    cfiles_status status;
    if (!follows_links && cfiles_status_of_name(folder, name, &status) == 0 && status.kind == CFILES_IS_LINK)
      return -ELOOP;
  }
  return descriptor;
}

int cfiles_duplicate(int descriptor) { RETURN(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

int cfiles_close(int descriptor) {
  // A close is not repeated after EINTR, because the number may already be another thread's descriptor.
  return close(descriptor) == 0 || errno == EINTR ? 0 : -errno;
}

int64_t cfiles_read(int descriptor, void *buffer, size_t count, uint64_t offset) {
  size_t done = 0;
  while (done < count) {
    ssize_t step;
    CALL(step, pread(descriptor, (char *)buffer + done, count - done, (off_t)(offset + done)));
    if (step < 0) return step;
    if (step == 0) break;
    done += (size_t)step;
  }
  return (int64_t)done;
}

int cfiles_write(int descriptor, const void *bytes, size_t count, uint64_t offset) {
  size_t done = 0;
  while (done < count) {
    ssize_t step;
    CALL(step, pwrite(descriptor, (const char *)bytes + done, count - done, (off_t)(offset + done)));
    if (step < 0) return (int)step;
    if (step == 0) return -EIO;
    done += (size_t)step;
  }
  return 0;
}

int cfiles_flush(int descriptor, bool is_folder) {
#if defined(__APPLE__)
  int result;
  (void)is_folder;
  // On Apple's systems, fsync leaves the bytes in the drive's cache, so it is used only if the file system lacks
  // F_FULLFSYNC. After any other failure, fsync is not tried: it may succeed although bytes were lost.
  CALL(result, fcntl(descriptor, F_FULLFSYNC));
  if (result != -ENOTSUP && result != -EOPNOTSUPP && result != -EINVAL && result != -ENOTTY && result != -ENOSYS)
    return result;
  RETURN(fsync(descriptor));
#else
  RETURN(is_folder ? fsync(descriptor) : fdatasync(descriptor));
#endif
}

int cfiles_flush_file_system(int folder) {
#if defined(__linux__)
  RETURN(syncfs(folder));
#else
  (void)folder;
  return -ENOTSUP;
#endif
}

void cfiles_begin_flush(int descriptor) {
#if defined(__linux__)
  sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
  (void)descriptor;
#endif
}

int cfiles_write_out(int descriptor, uint64_t written, uint64_t offset, uint64_t count) {
#if defined(__linux__)
  int result = 0;
  // A length of 0 would mean the whole file.
  if (written > 0) CALL(result, sync_file_range(descriptor, 0, (off_t)written, SYNC_FILE_RANGE_WAIT_BEFORE));
  if (result == 0) CALL(result, sync_file_range(descriptor, (off_t)offset, (off_t)count, SYNC_FILE_RANGE_WRITE));
  // If the file system does not support the call, the next flush writes the bytes.
  return result == -ENOSYS || result == -EINVAL || result == -ENOTSUP || result == -ESPIPE ? 0 : result;
#else
  (void)descriptor;
  (void)written;
  (void)offset;
  (void)count;
  return 0;
#endif
}

static int KindOf(mode_t mode) {
  if (S_ISREG(mode)) return CFILES_IS_FILE;
  if (S_ISDIR(mode)) return CFILES_IS_FOLDER;
  return S_ISLNK(mode) ? CFILES_IS_LINK : CFILES_IS_OTHER;
}

#if defined(__linux__)
// AT_STATX_FORCE_SYNC is needed because after a hard link, gocryptfs would otherwise report the size of the encrypted
// file for a second. Times are not requested: since Linux 6.13, a request gives all later writes precise times. So each
// write would change metadata, and each flush of a log would have to write it too.
static int StatusOf(int folder, const char *name, int flags, cfiles_status *status) {
  struct statx info;
  int result;
  CALL(result, statx(folder, name, flags | AT_STATX_FORCE_SYNC,
                     STATX_TYPE | STATX_UID | STATX_SIZE | STATX_INO | STATX_NLINK, &info));
  if (result < 0) return result;
  status->kind = KindOf(info.stx_mode);
  status->owner = info.stx_uid;
  status->byte_count = info.stx_size;
  status->device = makedev(info.stx_dev_major, info.stx_dev_minor);
  status->inode = info.stx_ino;
  status->link_count = info.stx_nlink;
  return 0;
}

int cfiles_status_of(int descriptor, cfiles_status *status) {
  return StatusOf(descriptor, "", AT_EMPTY_PATH, status);
}

int cfiles_status_of_name(int folder, const char *name, cfiles_status *status) {
  return StatusOf(folder, name, AT_SYMLINK_NOFOLLOW, status);
}
#else
static void Copy(const struct stat *from, cfiles_status *to) {
  to->kind = KindOf(from->st_mode);
  to->owner = from->st_uid;
  to->byte_count = (uint64_t)from->st_size;
  to->device = (uint64_t)from->st_dev;
  to->inode = (uint64_t)from->st_ino;
  to->link_count = (uint64_t)from->st_nlink;
}

int cfiles_status_of(int descriptor, cfiles_status *status) {
  struct stat info;
  int result;
  CALL(result, fstat(descriptor, &info));
  if (result == 0) Copy(&info, status);
  return result;
}

int cfiles_status_of_name(int folder, const char *name, cfiles_status *status) {
  struct stat info;
  int result;
  CALL(result, fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW));
  if (result == 0) Copy(&info, status);
  return result;
}
#endif

int64_t cfiles_free_byte_count(int descriptor) {
  struct statvfs info;
  int result;
  CALL(result, fstatvfs(descriptor, &info));
  if (result < 0) return result;
  // ramfs, a tmpfs without a limit, and many file systems in user space report no blocks.
  if (info.f_blocks == 0) return -ENOSYS;
  uint64_t blocks = info.f_bavail, size = info.f_frsize;
  return size != 0 && blocks > INT64_MAX / size ? INT64_MAX : (int64_t)(blocks * size);
}

// The kind of a listed name, or -ENOENT if the file was removed or renamed in the meantime.
static int KindOfEntry(int folder, const struct dirent *entry) {
  switch (entry->d_type) {
    case DT_REG: return CFILES_IS_FILE;
    case DT_DIR: return CFILES_IS_FOLDER;
    case DT_LNK: return CFILES_IS_LINK;
    case DT_UNKNOWN: {
      // Some file systems don't store the kind with the name.
      cfiles_status status;
      int error = cfiles_status_of_name(folder, entry->d_name, &status);
      if (error == -ENOENT) return error;
      return error == 0 ? status.kind : CFILES_IS_UNKNOWN;
    }
    default: return CFILES_IS_OTHER;
  }
}

int cfiles_list(int folder, bool (*body)(void *context, const char *name, int kind), void *context) {
  // The stream needs a descriptor of its own, because listing moves the descriptor's position.
  int descriptor = cfiles_open(folder, ".", CFILES_FOLDER, false, 0);
  if (descriptor < 0) return descriptor;
  DIR *stream = fdopendir(descriptor);
  if (stream == NULL) {
    int error = errno;
    close(descriptor);
    return -error;
  }
  int error = 0;
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(stream);
    if (entry == NULL) {
      if (errno == EINTR) continue;
      error = errno;
      break;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    int kind = KindOfEntry(folder, entry);
    if (kind == -ENOENT) continue;
    if (!body(context, entry->d_name, kind)) break;
  }
  closedir(stream);
  return -error;
}

int cfiles_make_folder(int folder, const char *name, unsigned mode) {
  RETURN(mkdirat(folder, name, (mode_t)mode));
}

int cfiles_rename(int folder, const char *name, int new_folder, const char *new_name) {
  RETURN(renameat(folder, name, new_folder, new_name));
}

int cfiles_exchange(int folder, const char *name, int other_folder, const char *other_name) {
  cfiles_status before, after;
  int result = cfiles_status_of_name(folder, name, &before);
  if (result < 0) return result;
#if defined(__APPLE__)
  if (renameatx_np(folder, name, other_folder, other_name, RENAME_SWAP) == 0) return 0;
#else
  if (renameat2(folder, name, other_folder, other_name, RENAME_EXCHANGE) == 0) return 0;
#endif
  if (errno != EINTR) return -errno;
  // An exchange is not repeated: FUSE or NFS may have made it before the signal, and a second one would undo it.
  result = cfiles_status_of_name(folder, name, &after);
  if (result < 0) return result;
  return after.device == before.device && after.inode == before.inode ? -EINTR : 0;
}

int cfiles_link(int folder, const char *name, int new_folder, const char *new_name) {
  RETURN(linkat(folder, name, new_folder, new_name, 0));
}

int cfiles_remove_file(int folder, const char *name) { RETURN(unlinkat(folder, name, 0)); }

int cfiles_remove_folder(int folder, const char *name) { RETURN(unlinkat(folder, name, AT_REMOVEDIR)); }

int cfiles_lock(int descriptor, bool exclusive) {
  RETURN(flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB));
}

int cfiles_lock_for_process(int descriptor) {
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  RETURN(fcntl(descriptor, F_SETLK, &range));
}

void cfiles_unlock(int descriptor) { flock(descriptor, LOCK_UN); }

int cfiles_path(int descriptor, char *path, size_t count) {
#if defined(__APPLE__)
  char found[MAXPATHLEN];
  int result;
  CALL(result, fcntl(descriptor, F_GETPATH, found));
  if (result < 0) return result;
  return strlcpy(path, found, count) < count ? 0 : -ENAMETOOLONG;
#else
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t result;
  CALL(result, readlink(link, path, count));
  if (result < 0) return (int)result;
  if ((size_t)result >= count) return -ENAMETOOLONG;
  path[result] = '\0';
  return 0;
#endif
}

int cfiles_fill_with_random_bytes(void *buffer, size_t count) {
  size_t done = 0;
  while (done < count) {
    ssize_t result;
#if defined(__linux__)
    // getrandom may return fewer bytes than requested, for example after a signal.
    CALL(result, getrandom((char *)buffer + done, count - done, 0));
    if (result < 0) return (int)result;
    done += (size_t)result;
#else
    // getentropy returns up to 256 bytes, all or none.
    size_t part = count - done < 256 ? count - done : 256;
    CALL(result, getentropy((char *)buffer + done, part));
    if (result < 0) return (int)result;
    done += part;
#endif
  }
  return 0;
}

bool cfiles_is_litter(const char *name) {
  static const char *const names[] = {".DS_Store", "Icon\r", ".localized", "Thumbs.db", "desktop.ini"};
  // A file whose name begins with "._" has extended attributes of another file, if the file system can't store these.
  if (strncmp(name, "._", 2) == 0) return true;
  for (size_t index = 0; index < sizeof names / sizeof *names; index++)
    if (strcmp(name, names[index]) == 0) return true;
  return false;
}

void cfiles_return_freed_memory(void) {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

void cfiles_limit_memory_pools(void) {
#if defined(__GLIBC__)
  if (getenv("MALLOC_ARENA_MAX") == NULL && getenv("GLIBC_TUNABLES") == NULL) mallopt(M_ARENA_MAX, 2);
#endif
}

void cfiles_ignore_file_size_signal(void) {
  struct sigaction action;
  if (sigaction(SIGXFSZ, NULL, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, NULL);
}
