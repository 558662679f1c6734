// The system calls of files and folders.
//
// 1. Each call that a signal interrupts is made again here, and nowhere else.
// 2. A result that is not negative is a success; a negative one is `-errno`, so it can't be overwritten by another
//    call before it is read.
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
  /// Must exist.
  CFILES_READ,
  /// Must exist; is changed in place.
  CFILES_UPDATE,
  /// Must not exist.
  CFILES_CREATE,
  /// A folder, which must exist.
  CFILES_FOLDER
};

/// What a name stands for.
enum { CFILES_IS_FILE, CFILES_IS_FOLDER, CFILES_IS_LINK, CFILES_IS_OTHER, CFILES_IS_UNKNOWN };

/// What is known of a file without reading it.
typedef struct {
  int kind;
  uint32_t owner;
  uint64_t byte_count;
  uint64_t device;
  uint64_t inode;
  uint64_t link_count;
} cfiles_status;

/// The folder argument that makes a name relative to the process's current folder.
int cfiles_current_folder(void);

/// Opens a name in a folder and gives a descriptor. It never waits for another process, as a pipe would make it.
/// What is made is for the owner alone unless `mode` says otherwise.
int cfiles_open(int folder, const char *name, int access, bool follows_links, unsigned mode);
int cfiles_duplicate(int descriptor);
/// Fails as some file systems do that report a failed write only here. The descriptor is gone in either case.
int cfiles_close(int descriptor);

/// Fills the buffer from an offset on and gives how many bytes there were: fewer only at the end of the file.
int64_t cfiles_read(int descriptor, void *buffer, size_t count, uint64_t offset);
/// Writes all bytes at an offset.
int cfiles_write(int descriptor, const void *bytes, size_t count, uint64_t offset);
/// Returns when the drive has confirmed a file's bytes and what is needed to find them, or a folder's names.
int cfiles_flush(int descriptor, bool is_folder);
/// Returns when the drive has confirmed all that was written to the file system of a folder so far; `-ENOTSUP` where
/// the system can't be asked for that.
int cfiles_flush_file_system(int folder);
/// Asks the system to begin writing the file's bytes to the drive, and returns at once. It promises nothing.
void cfiles_begin_flush(int descriptor);
/// Writes some bytes of the file to the drive, where the system can be asked for that, and waits. It promises nothing
/// but that the flush that follows has less to do.
int cfiles_write_out(int descriptor, uint64_t offset, uint64_t count);

int cfiles_status_of(int descriptor, cfiles_status *status);
/// Does not follow a link.
int cfiles_status_of_name(int folder, const char *name, cfiles_status *status);
/// How many bytes the file system has left for this user.
int64_t cfiles_free_byte_count(int descriptor);

/// Calls `body` with each name in a folder but "." and "..", in no order, until it returns false.
int cfiles_list(int folder, bool (*body)(void *context, const char *name, int kind), void *context);
int cfiles_make_folder(int folder, const char *name, unsigned mode);
int cfiles_rename(int folder, const char *name, int new_folder, const char *new_name);
/// Gives each of two names what the other one stood for, in one step; `-EINVAL` or `-ENOSYS` where the file system
/// can't.
int cfiles_exchange(int folder, const char *name, int other_folder, const char *other_name);
/// Gives a file a second name, in the same file system.
int cfiles_link(int folder, const char *name, int new_folder, const char *new_name);
int cfiles_remove_file(int folder, const char *name);
int cfiles_remove_folder(int folder, const char *name);

/// Takes the lock of an open file or folder, which ends when the last descriptor of it is closed; `-EWOULDBLOCK`
/// when another one has it.
int cfiles_lock(int descriptor, bool exclusive);
/// Takes the lock of an open file in the way of LevelDB: it is the process's, and ends when the process closes any
/// descriptor of the file; `-EAGAIN` or `-EACCES` when another process has it.
int cfiles_lock_for_process(int descriptor);
/// Lets the lock go at once: closing the descriptor does so only when no child process has just inherited it.
void cfiles_unlock(int descriptor);

/// Where an open file is now, also after it was moved. `path` has `count` bytes and is terminated by a zero.
int cfiles_path(int descriptor, char *path, size_t count);

/// Fills a buffer from the system's source of randomness.
int cfiles_fill_with_random_bytes(void *buffer, size_t count);

/// Whether file managers leave files of that name in any folder: ".DS_Store", "Thumbs.db" and their like.
bool cfiles_is_litter(const char *name);

/// Makes a write beyond the process's limit of file sizes an error. Unless the program has chosen otherwise, the
/// system ends the process for it.
void cfiles_ignore_file_size_signal(void);

#if defined(__cplusplus)
}
#endif

#endif
