// LevelDB behind a small C interface: status codes instead of strings, our own Env, and no C++ exceptions. START HERE
// to read the module; then Folder.h, Inventory.h, StagedEnv.h.
//
// Every function that can fail fills a `cldb_status` owned by its caller; nothing in it needs to be freed. Returned
// pointers to keys and values are borrowed: see each function for how long.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

// MARK: Outcomes

typedef enum cldb_code : int32_t {
  CLDB_OK = 0,
  // No such database folder. An absent key is not an error and has no code.
  CLDB_NOT_FOUND,
  // The files are inconsistent: a wrong checksum, a missing table, a link instead of a file.
  CLDB_DAMAGED,
  // The operating system refused; `os_error` says why.
  CLDB_IO,
  // The call itself is wrong.
  CLDB_WRONG_USE,
  // A write to a database opened with `read_only`.
  CLDB_READ_ONLY,
  // A call after `cldb_close`.
  CLDB_CLOSED,
  // It is in use: at opening by another opener, at closing by an iterator.
  CLDB_BUSY,
  // The system has no descriptor; nothing was written, and the same write may succeed later.
  CLDB_REFUSED,
  // An earlier write failed, so writes are refused until the database is opened again.
  CLDB_POISONED,
  // There is not enough memory.
  CLDB_OUT_OF_RESOURCES,
  // Any other C++ exception.
  CLDB_EXCEPTION,
} cldb_code;

typedef struct cldb_status {
  cldb_code code;
  // An errno if one is known, otherwise 0.
  int32_t os_error;
  // UTF-8, terminated by a zero byte, truncated if it doesn't fit.
  char message[512];
  // The first missing or damaged key, if known; otherwise no bytes.
  uint8_t key[32];
  int32_t key_size;
} cldb_status;

// MARK: The fault hook

// What is about to be done to the disk.
typedef enum cldb_operation_kind : int32_t {
  CLDB_CREATE,       // a file is created
  CLDB_WRITE,        // one write(2) at the end of a file
  CLDB_SYNC,         // a file's bytes are flushed to the drive
  CLDB_RENAME,       // `path` becomes `new_path`
  CLDB_REMOVE,       // a file is unlinked
  CLDB_SYNC_FOLDER,  // a folder's names are flushed to the drive
  CLDB_MAKE_FOLDER,  // a folder is created
} cldb_operation_kind;

typedef struct cldb_operation {
  cldb_operation_kind kind;
  const char *path;
  const char *_Nullable new_path;
  // For CLDB_WRITE: the bytes, and where in the file they go.
  const void *_Nullable bytes;
  size_t byte_count;
  uint64_t offset;
} cldb_operation;

// Called before each operation that changes the disk, from any thread; for tests. Returns 0 to continue, or an errno
// with which the operation then fails without being tried. For a write, lowering `*byte_count` makes it a short write:
// this many bytes are written, and the rest is a new operation.
typedef int32_t (*cldb_hook)(void *_Nullable context, const cldb_operation *operation, size_t *byte_count);

// The same for reads: called before each read(2) of `*byte_count` bytes, which it can make fewer.
typedef int32_t (*cldb_read_hook)(void *_Nullable context, const char *path, size_t *byte_count);

// MARK: Opening and closing

typedef struct cldb_options {
  // Never changes anything on disk: what LevelDB rewrites at opening stays in memory, and writes are refused.
  bool read_only;
  // With `read_only`: another process may be writing the database. Its logs are then not part of the database but read
  // by `cldb_read_logs`.
  bool in_use;
  // Creates the folder and an empty database if there is none. A folder with remains of a database without its CURRENT
  // file is still refused.
  bool create_if_missing;
  // Refuses a database that is already there.
  bool error_if_exists;
  // Opens a database with a damaged log up to the damage; `cldb_damage` then has the place, and writing can't begin.
  // Otherwise such a database is refused.
  bool up_to_damage;
  // Sizes in bytes. LevelDB clips them to what it can work with.
  size_t write_buffer_size;
  size_t block_size;
  size_t table_size;
  // A log up to this size is reused when the database is opened again; a larger one becomes a table.
  size_t kept_log_size;
  // For tests: as if the system had no thread.
  bool without_thread;
  cldb_hook _Nullable hook;
  void *_Nullable hook_context;
  cldb_read_hook _Nullable read_hook;
  void *_Nullable read_hook_context;
} cldb_options;

typedef struct cldb_database cldb_database;
typedef struct cldb_iterator cldb_iterator;
typedef struct cldb_batch cldb_batch;

// In place of a descriptor: opens the folder by its path.
enum { CLDB_BY_PATH = -1 };

// Opens the database in a folder without changing anything there, except creating a new folder. If the caller has the
// folder open, `folder` is its descriptor, which the caller still owns: all files are then opened relative to it,
// wherever the folder is now, and `path` is for messages. Otherwise `folder` is CLDB_BY_PATH. Returns NULL and fills
// `status` when that fails. To write, `cldb_begin_writing` must follow. The result is safe to use from any thread and
// must be freed with `cldb_free`.
cldb_database *_Nullable cldb_open(const char *path, int folder, const cldb_options *options, cldb_status *status);

// Whether a torn tail of a log or a manifest was ignored. It was never confirmed.
bool cldb_has_torn_tail(const cldb_database *database);

// False, with CLDB_DAMAGED, if the log is damaged and this was opened `up_to_damage`.
bool cldb_damage(const cldb_database *database, cldb_status *status);

// Keys of a table or a log that begin with the same byte: the first and the last of them.
typedef struct cldb_key_range {
  uint64_t file;  // its number
  const void *first;
  size_t first_size;
  const void *last;
  size_t last_size;
} cldb_key_range;

// Calls `receive` with the ranges of all tables and of the log, in no particular order. To be called before writing
// begins. It reads from a table only if its keys differ in their first byte.
bool cldb_key_ranges(cldb_database *database, void (*receive)(void *context, const cldb_key_range *range),
                     void *context, cldb_status *status);

// A key and its value. Under an iterator it is borrowed until that moves or is freed.
typedef struct cldb_entry {
  const void *_Nullable key;
  size_t key_size;
  const void *_Nullable value;
  size_t value_size;
} cldb_entry;

// For a database that is open as one `in_use`: calls `receive` with each key and value that its logs have gained since
// the last call, in the order in which they were written; borrowed until it returns. Incomplete writes are ignored, and
// so are logs that were started after the opening. To be called by one thread at a time.
bool cldb_read_logs(cldb_database *database, void (*receive)(void *context, const cldb_entry *entry), void *context,
                    cldb_status *status);

// Whether a writer may have replaced tables or logs since this was opened: a missing file is then not damage, and
// opening the database again finds its contents.
bool cldb_has_changed(const cldb_database *database);

// Whether it was opened for writing since this was opened: unconfirmed writes in its logs may then have been replaced
// by others.
bool cldb_was_reopened(const cldb_database *database);

// Writes to disk what opening has changed in memory, and enables writing. Nothing is overwritten, and nothing is
// removed that may be the only copy of an entry: then it fails with CLDB_DAMAGED and the entry's `key`. After a failure
// the folder is unchanged, except for the removal of useless files, and the database can only be closed.
bool cldb_begin_writing(cldb_database *database, cldb_status *status);

// Waits for calls in progress and closes. False, with CLDB_BUSY, while iterators exist. Closing twice is allowed.
// Afterwards every other call returns CLDB_CLOSED.
bool cldb_close(cldb_database *database, cldb_status *status);

// Closes if necessary, and frees. No iterator may exist, and no other call may be in progress.
void cldb_free(cldb_database *database);

// MARK: Reading

// Receives a borrowed value, valid until it returns.
typedef void (*cldb_receiver)(void *context, const void *bytes, size_t byte_count);

// Calls `receive` once if the key exists, otherwise not at all. False only on failure.
bool cldb_get(cldb_database *database, const void *_Nullable key, size_t key_size, cldb_receiver receive,
              void *context, cldb_status *status);

// A cursor over the current state, at no entry. Checksums are verified, nothing is cached. It is used by one thread at
// a time and freed, before the database is closed, with `cldb_iterator_free`.
cldb_iterator *_Nullable cldb_iterator_new(cldb_database *database, cldb_status *status);
void cldb_iterator_free(cldb_iterator *iterator);

// Each moves and fills `entry`; false if there is no entry, or if reading failed. LevelDB skips what it can't read and
// continues, so `cldb_iterator_status` must be called after every scan.
bool cldb_iterator_seek(cldb_iterator *iterator, const void *_Nullable key, size_t key_size,
                        cldb_entry *entry);
bool cldb_iterator_seek_first(cldb_iterator *iterator, cldb_entry *entry);
bool cldb_iterator_seek_last(cldb_iterator *iterator, cldb_entry *entry);
bool cldb_iterator_next(cldb_iterator *iterator, cldb_entry *entry);
bool cldb_iterator_previous(cldb_iterator *iterator, cldb_entry *entry);

// False if anything this iterator passed could not be read.
bool cldb_iterator_status(cldb_iterator *iterator, cldb_status *status);

// One of LevelDB's properties, such as "leveldb.stats"; `receive` is not called for an unknown one.
bool cldb_property(cldb_database *database, const char *name, cldb_receiver receive, void *context,
                   cldb_status *status);

// About how many bytes the tables (without the log) have between two keys.
bool cldb_approximate_size(cldb_database *database, const void *_Nullable first, size_t first_size,
                           const void *_Nullable limit, size_t limit_size, uint64_t *size,
                           cldb_status *status);

// MARK: Salvage

// The readable contents of the files of a database that can't be opened, file by file and without the manifest.
typedef struct cldb_salvage cldb_salvage;

// Reads each table and log. Fails only if the folder can't be listed; errors of files are among the problems. Nothing
// is changed. `folder` is as for `cldb_open`.
cldb_salvage *_Nullable cldb_salvage_open(const char *path, int folder, cldb_status *status);
void cldb_salvage_free(cldb_salvage *salvage);

// Calls `receive` with each value that a file has for a key. A block whose checksum is wrong has none.
bool cldb_salvage_get(cldb_salvage *salvage, const void *key, size_t key_size, cldb_receiver receive, void *context,
                      cldb_status *status);

// Calls `receive` with the last key before a limit that a file has, if there is one.
bool cldb_salvage_last(cldb_salvage *salvage, const void *limit, size_t limit_size, cldb_receiver receive, void *context,
                       cldb_status *status);

// Calls `receive` once with the problems of files, one on each line.
void cldb_salvage_problems(cldb_salvage *salvage, cldb_receiver receive, void *context);

// MARK: Writing

// NULL if memory has run out.
cldb_batch *_Nullable cldb_batch_new(void);
void cldb_batch_free(cldb_batch *batch);

// False if memory has run out; the batch can then only be cleared or freed.
bool cldb_batch_put(cldb_batch *batch, const void *_Nullable key, size_t key_size,
                    const void *_Nullable value, size_t value_size);

// Empties the batch and keeps its memory.
void cldb_batch_clear(cldb_batch *batch);
size_t cldb_batch_size(const cldb_batch *batch);

// Applies the batch as a whole; with `sync` it returns when the drive has confirmed it. CLDB_REFUSED means that nothing
// was written, and that a later write may succeed. After any other failure to write, it is unknown whether the batch is
// stored, and all further writes return CLDB_POISONED.
bool cldb_write(cldb_database *database, cldb_batch *batch, bool sync, cldb_status *status);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif
