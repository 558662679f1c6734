// The system calls of files and folders.
//
// 1. A call that a signal interrupts is repeated here, and nowhere else. Only a close and an exchange are not repeated.
// 2. A negative result is `-errno`, so that no other call can overwrite the error.
// 3. Every descriptor is closed on exec.

#ifndef CFILES_H
#define CFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// What a file is opened for.
enum {
  /// For reading. The file must exist.
  CFILES_READ,
  /// For changing in place. The file must exist.
  CFILES_UPDATE,
  /// For writing a new file, which must not exist.
  CFILES_CREATE,
  /// A folder, which must exist.
  CFILES_FOLDER
};

/// What a name refers to.
enum { CFILES_IS_FILE, CFILES_IS_FOLDER, CFILES_IS_LINK, CFILES_IS_OTHER, CFILES_IS_UNKNOWN };

/// The status of a file, found without reading it.
typedef struct {
  int kind;
  uint32_t owner;
  uint64_t byte_count;
  uint64_t device;
  uint64_t inode;
  uint64_t link_count;
} cfiles_status;

/// The id of this process. Only the first call, and the first after a fork, makes a system call.
int cfiles_process(void);

/// The folder argument that makes a name relative to the process's current folder.
int cfiles_current_folder(void);

/// Opens a name in a folder and returns a descriptor. Never waits for another process, even if the name is a pipe.
int cfiles_open(int folder, const char *name, int access, bool follows_links, unsigned mode);
int cfiles_duplicate(int descriptor);
/// Closes a descriptor, also if an error is returned. Some file systems report a failed write only here.
int cfiles_close(int descriptor);

/// Reads bytes, and returns their number, which is smaller than `count` only at the end of the file.
int64_t cfiles_read(int descriptor, void *buffer, size_t count, uint64_t offset);
int cfiles_write(int descriptor, const void *bytes, size_t count, uint64_t offset);
/// Waits until the drive has confirmed a file's bytes and the metadata to find them, or a folder's names.
int cfiles_flush(int descriptor, bool is_folder);
/// Waits until the drive has confirmed everything written to the file system of a folder so far; `-ENOTSUP` if the
/// system has no such call.
int cfiles_flush_file_system(int folder);
/// Asks the system to begin writing the file's bytes to the drive. Does not wait, and guarantees nothing.
void cfiles_begin_flush(int descriptor);
/// Waits until the drive has the first `written` bytes of the file, then asks the system to begin writing `count` bytes
/// from `offset` on. Makes the next flush shorter, but guarantees nothing. Does nothing except on Linux.
int cfiles_write_out(int descriptor, uint64_t written, uint64_t offset, uint64_t count);

int cfiles_status_of(int descriptor, cfiles_status *status);
/// The status of a name, without following a link.
int cfiles_status_of_name(int folder, const char *name, cfiles_status *status);
/// The number of bytes that this user can still write to the file system; `-ENOSYS` if that is not reported.
int64_t cfiles_free_byte_count(int descriptor);

/// Calls `body` with each name in a folder except "." and "..", in no particular order, until `body` returns false.
int cfiles_list(int folder, bool (*body)(void *context, const char *name, int kind), void *context);
int cfiles_make_folder(int folder, const char *name, unsigned mode);
int cfiles_rename(int folder, const char *name, int new_folder, const char *new_name);
/// Exchanges two names in one step; `-EINVAL`, `-ENOSYS` or `-ENOTSUP` if the file system can't do that, and `-EINTR`
/// if a signal prevented it.
int cfiles_exchange(int folder, const char *name, int other_folder, const char *other_name);
/// Gives a file a second name, which must be in the same file system.
int cfiles_link(int folder, const char *name, int new_folder, const char *new_name);
int cfiles_remove_file(int folder, const char *name);
int cfiles_remove_folder(int folder, const char *name);

/// Takes the lock of an open file or folder without waiting; `-EWOULDBLOCK` if another holder has it. The lock ends
/// when this descriptor and all that were duplicated or inherited from it are closed.
int cfiles_lock(int descriptor, bool exclusive);
/// Takes the lock that C++ LevelDB takes; `-EAGAIN` or `-EACCES` if another process has it. The lock belongs to the
/// process, and ends when the process closes any descriptor of the file.
int cfiles_lock_for_process(int descriptor);
/// Releases the lock at once. Closing does so only if no child process has just inherited the descriptor.
void cfiles_unlock(int descriptor);

/// Finds the current path of an open file, even if it was moved. `path` has `count` bytes, including a final zero.
int cfiles_path(int descriptor, char *path, size_t count);

int cfiles_fill_with_random_bytes(void *buffer, size_t count);

/// Whether a name is one of those that file managers create in any folder, such as ".DS_Store" and "Thumbs.db".
bool cfiles_is_litter(const char *name);

/// Returns freed memory to the system, if the C library has kept it.
void cfiles_return_freed_memory(void);

/// Has the C library allocate from two pools of memory instead of up to eight for each core, unless the environment
/// sets the number. Only before threads start.
void cfiles_limit_memory_pools(void);

/// Makes a write beyond the process's limit of file sizes an error. By default, the system ends the process instead.
void cfiles_ignore_file_size_signal(void);

#if defined(__cplusplus)
}
#endif

#endif
