// LevelDB behind a small C interface: status codes instead of strings, and our own Env. START HERE to read the module;
// then Folder.h, Inventory.h, StagedEnv.h.
//
// Database.swift says what the calls promise. Every function that can fail fills a `cldb_status` owned by its caller;
// nothing in it needs to be freed. A database is safe to use from any thread, except that no other call may be in
// progress while it is closed or freed.
//
// LevelDB is built without C++ exceptions, so a lack of memory ends the process, as it does in Swift. Sizes in files
// are checked before anything is allocated. The only exception that is caught is that of `std::thread`.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

// MARK: Outcomes

// The codes of a status, as `DatabaseError.Code` documents them.
typedef enum cldb_code : int32_t {
  CLDB_OK = 0,
  CLDB_NOT_FOUND,
  CLDB_DAMAGED,
  CLDB_IO,
  CLDB_WRONG_USE,
  CLDB_READ_ONLY,
  CLDB_CLOSED,
  CLDB_BUSY,
  CLDB_REFUSED,
  CLDB_POISONED,
  CLDB_OUT_OF_RESOURCES,
} cldb_code;

typedef struct cldb_status {
  cldb_code code;
  // An errno if one is known, otherwise 0.
  int32_t os_error;
  // A text in UTF-8 for people, terminated by a zero byte, and truncated if it doesn't fit.
  char message[512];
  // The first missing or damaged key, if known; otherwise no bytes.
  uint8_t key[32];
  int32_t key_size;
} cldb_status;

// A key and its value, borrowed until the receiver returns.
typedef struct cldb_entry {
  const void *_Nullable key;
  size_t key_size;
  const void *_Nullable value;
  size_t value_size;
} cldb_entry;

// What a scan does next. Only `cldb_scan` uses the answer of a receiver.
typedef enum cldb_answer : int32_t {
  CLDB_NEXT,
  CLDB_STOP,
  // Fail if something before this entry could not be read; otherwise pass the same entry again.
  CLDB_CHECK,
} cldb_answer;

typedef cldb_answer (*cldb_receiver)(void *context, const cldb_entry *entry);

// MARK: The hook of tests

typedef enum cldb_operation_kind : int32_t {
  CLDB_CREATE,       // a file is created
  CLDB_WRITE,        // one write(2) at the end of a file
  CLDB_SYNC,         // a file's bytes are flushed to the drive
  CLDB_RENAME,       // `path` becomes `new_path`
  CLDB_REMOVE,       // a file is unlinked
  CLDB_SYNC_FOLDER,  // a folder's names are flushed to the drive
  CLDB_READ,         // one read(2) of `byte_count` bytes
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

// A function that is called before each operation, from any thread. Returns 0, or an errno with which the operation
// fails without being tried. Lowering `*byte_count` makes a write or a read short; the rest is then a new operation.
typedef int32_t (*cldb_hook)(void *_Nullable context, const cldb_operation *operation, size_t *byte_count);

// MARK: Opening and closing

typedef struct cldb_options {
  // Nothing changes on disk: what LevelDB rewrites at opening stays in memory, and writes are refused.
  bool read_only;
  // With `read_only`: another process may be writing the database. The logs are then read by `cldb_read_logs` only.
  bool in_use;
  // Creates an empty database if there is none. A folder with files of a database but no CURRENT is refused.
  bool create_if_missing;
  // Sizes in bytes. LevelDB limits each to the range that it supports.
  size_t write_buffer_size;
  size_t block_size;
  size_t table_size;
  // A log up to this size is reused when the database is opened again; a larger one becomes a table.
  size_t kept_log_size;
  // For tests: works as if the system had refused a thread.
  bool without_thread;
  cldb_hook _Nullable hook;
  void *_Nullable hook_context;
} cldb_options;

typedef struct cldb_database cldb_database;

// Whether a file of a database can have this name.
bool cldb_is_file_name(const char *name);

// Opens the database in a folder without changing anything there. `folder` is a descriptor that the caller still
// owns: files are opened relative to it, and `path` is for messages. Returns NULL on failure. A database with a
// damaged log is opened up to the damage; see `cldb_damage`. To write, `cldb_begin_writing` must follow. The result
// must be freed with `cldb_free`.
cldb_database *_Nullable cldb_open(const char *path, int folder, const cldb_options *options, cldb_status *status);

bool cldb_has_torn_tail(const cldb_database *database);

// Returns false, with CLDB_DAMAGED and the place of the damage, if the log is damaged. Writing can't begin then.
bool cldb_damage(const cldb_database *database, cldb_status *status);

// Calls `receive` with each range of keys, as of opening: with the first and, as a value, the last of those keys of a
// table or a log that begin with the same byte. Only tables whose keys differ in their first byte are read.
bool cldb_key_ranges(cldb_database *database, cldb_receiver receive, void *context, cldb_status *status);

bool cldb_read_logs(cldb_database *database, cldb_receiver receive, void *context, cldb_status *status);

bool cldb_has_changed(const cldb_database *database);

// Fails with CLDB_DAMAGED if a file that would be removed may have the only copy of an entry that is not before the key
// `first`. `key` of the status is then the key of the entry.
bool cldb_begin_writing(cldb_database *database, const void *_Nullable first, size_t first_size,
                        cldb_status *status);

// Closes the database; closing again does nothing. Later reads and writes fail with CLDB_CLOSED.
void cldb_close(cldb_database *database);

// Closes the database if necessary, and frees it.
void cldb_free(cldb_database *database);

// MARK: Reading

// Calls `receive` once if the key exists, otherwise not at all. Returns false only if reading fails.
bool cldb_get(cldb_database *database, const void *_Nullable key, size_t key_size, cldb_receiver receive,
              void *context, cldb_status *status);

bool cldb_scan(cldb_database *database, const void *_Nullable first, size_t first_size, const void *_Nullable last,
               size_t last_size, bool backwards, cldb_receiver receive, void *context, cldb_status *status);

// MARK: Writing

// Entries that are written together, all or none.
typedef struct cldb_batch cldb_batch;
cldb_batch *cldb_batch_new(void);
void cldb_batch_free(cldb_batch *batch);
void cldb_batch_put(cldb_batch *batch, const cldb_entry *entry);

bool cldb_write(cldb_database *database, cldb_batch *batch, bool sync, cldb_status *status);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif
