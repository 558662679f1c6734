#pragma once

// The peers that the journal is measured against, behind a C interface: LevelDB, SQLite, PostgreSQL and plain files,
// used from C++ as their manuals advise. A function that fails returns false and stores the reason in `error`.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer_error {
  char message[512];
} peer_error;

/// The versions of the libraries that are linked, as text that lives as long as the process.
const char *peer_leveldb_version(void);
const char *peer_sqlite_version(void);

const char *peer_postgres_version(void);

/// The keys and values of a journal's entries, held in memory: the bytes that every peer writes.
typedef struct peer_entries peer_entries;

/// Reads all entries of a LevelDB folder that no process has open. LevelDB rewrites the folder when it opens it.
bool peer_entries_read(const char *folder, peer_entries **entries, peer_error *error);
size_t peer_entries_count(const peer_entries *entries);
uint64_t peer_entries_byte_count(const peer_entries *entries);
void peer_entries_free(peer_entries *entries);

/// Writes the first `count` entries into a new LevelDB with default options, each with its own synced `Put`. The
/// entries are dealt to `callers` threads in turn. `seconds` is the time from the moment all threads are ready until
/// the last has ended.
bool peer_leveldb_put(const char *folder, const peer_entries *entries, size_t count, size_t callers,
                      double *seconds, peer_error *error);

/// Inserts the rows of the table `journal_entries` into a new table like it, over one connection, grouped into
/// transactions as the originals were. `batches` is the number of these transactions.
bool peer_postgres_insert(const char *address, size_t *batches, double *seconds, peer_error *error);

/// Connects, and reads the table `journal_entries` with COPY. `count` is the number of pieces that the server sent.
bool peer_postgres_copy(const char *address, size_t *count, double *seconds, peer_error *error);

/// Writes the first `count` entries into a new LevelDB with default options, each as a synced batch of
/// `pieces` keys that share its bytes equally.
bool peer_leveldb_write_batches(const char *folder, const peer_entries *entries, size_t count,
                                size_t pieces, double *seconds, peer_error *error);

/// An open LevelDB folder, for reading.
typedef struct peer_log peer_log;

bool peer_log_open(const char *folder, peer_log **log, peer_error *error);
void peer_log_close(peer_log *log);

/// Iterates over all entries, verifies checksums, and reads the size of every key and value.
bool peer_log_scan(const peer_log *log, size_t *count, uint64_t *byte_count, double *seconds,
                   peer_error *error);

/// How the threads of a process share a SQLite database.
typedef enum peer_sqlite_sharing {
  /// A connection for each thread. It waits for the transactions of the others.
  peer_sqlite_own_connection,
  /// One connection behind a mutex.
  peer_sqlite_shared_connection
} peer_sqlite_sharing;

/// Inserts the first `count` entries into a new SQLite database in WAL mode with synchronous=FULL, each in its own
/// transaction. Threads and time are as in `peer_leveldb_put`.
bool peer_sqlite_insert(const char *folder, const peer_entries *entries, size_t count, size_t callers,
                        peer_sqlite_sharing sharing, double *seconds, peer_error *error);

/// A table of items without further indexes in SQLite, in WAL mode with synchronous=FULL. Its cache holds all of it.
typedef struct peer_updates peer_updates;

/// Makes a table of `count` items of the size of the sample's.
bool peer_updates_create(const char *folder, size_t count, peer_updates **updates, peer_error *error);
/// Updates one number of random items, each in its own transaction, on one connection behind a mutex. Threads and time
/// are as in `peer_leveldb_put`.
bool peer_updates_run(peer_updates *updates, size_t count, size_t callers, uint64_t seed, double *seconds,
                      peer_error *error);
void peer_updates_free(peer_updates *updates);

/// A table of items in SQLite, with indexes on `count` and `price`. Its cache holds everything that is read.
typedef struct peer_items peer_items;

/// Makes an empty table. The caller adds the items, then makes the indexes, then queries.
bool peer_items_create(const char *folder, peer_items **items, peer_error *error);
bool peer_items_add(peer_items *items, int64_t id, const char *name, const char *note, int64_t count, double price,
                    double seen, peer_error *error);
bool peer_items_index(peer_items *items, peer_error *error);
/// Each of these runs a prepared statement, reads every column of every row, and adds the number of rows to `rows`: the
/// items of a `count`, the first 20 by `price` from a price on, and those whose `note` is not below a text, for which
/// there is no index.
bool peer_items_equal(peer_items *items, int64_t count, size_t *rows, peer_error *error);
bool peer_items_first(peer_items *items, double price, size_t *rows, peer_error *error);
bool peer_items_scan(peer_items *items, const char *note, size_t *rows, peer_error *error);
void peer_items_free(peer_items *items);

/// Writes `count` new files of `byte_count` bytes into a folder and flushes each; the folder is flushed after
/// each file, or once at the end. The first 8 bytes of file n are replaced by `first_stamp + n`, so that no
/// two are equal.
bool peer_files_write(const char *folder, const uint8_t *bytes, size_t byte_count, size_t count,
                      uint64_t first_stamp, bool flush_folder_each, double *seconds, peer_error *error);

/// Appends a small block to a new file in a folder and flushes it, `count` times. `seconds` is the median time of a
/// flush: the least that a durable write takes on this drive.
bool peer_flush_time(const char *folder, size_t count, double *seconds, peer_error *error);

/// Has the file system of a folder write everything that waits in memory, so that no contestant pays for the one before
/// it.
bool peer_settle(const char *folder, peer_error *error);

#ifdef __cplusplus
}
#endif
