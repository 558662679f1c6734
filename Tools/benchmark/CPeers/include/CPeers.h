#pragma once

// The peers of the journal, behind a C interface. The caller measures the time and runs the threads. A
// function that returns false or NULL has failed, and `peer_failure` says why.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Entries in memory, a database or a connection, as the function says that made it.
typedef struct peer peer;

void peer_free(peer *any);
/// Why the latest call on this thread failed.
const char *peer_failure(void);
const char *peer_versions(void);

/// Reads the keys and values of a journal's entries, which every peer then writes. LevelDB rewrites the
/// folder when opening it, so no journal may be opened there afterwards.
peer *peer_entries(const char *folder);
size_t peer_entries_count(const peer *entries);
uint64_t peer_entries_byte_count(const peer *entries);

/// A LevelDB with default options: a new one for these entries, or an existing one for NULL.
peer *peer_leveldb(const char *folder, const peer *entries);
/// Writes an entry with a synced `Put`. Safe on many threads.
bool peer_leveldb_put(peer *database, size_t index);
/// Writes an entry as one synced batch of up to `pieces` keys that share its bytes equally.
bool peer_leveldb_write(peer *database, size_t index, size_t pieces);
/// Iterates over all entries, verifies checksums, and reads the size of every key and value.
bool peer_leveldb_scan(peer *database, size_t *count, uint64_t *byte_count);

/// A SQLite database in WAL mode with synchronous=FULL. Threads take turns.
peer *peer_sqlite(const char *path);
bool peer_sqlite_run(peer *database, const char *text);
/// Inserts an entry in its own transaction.
bool peer_sqlite_insert(peer *database, const peer *entries, size_t index);
bool peer_sqlite_add(peer *database, int64_t id, const char *name, const char *note, int64_t count, double price,
                     double seen);
/// Changes an item's `count` in its own transaction.
bool peer_sqlite_update(peer *database, int64_t id, int64_t count);
/// Each reads every column of the rows that it finds, and adds their number to `rows`: the items of a
/// `count`, the first 20 by `price` from a price on, and those whose `note` is not below a text.
bool peer_sqlite_equal(peer *database, int64_t count, size_t *rows);
bool peer_sqlite_first(peer *database, double price, size_t *rows);
bool peer_sqlite_scan(peer *database, const char *note, size_t *rows);

/// Reads the table `journal_entries` and makes an empty table like it. `batches` is the number of
/// transactions that wrote the rows.
peer *peer_postgres(const char *address, size_t *batches);
/// Inserts the rows into the new table, in the same transactions as the originals.
bool peer_postgres_insert(peer *connection);
/// Reads the table `journal_entries` with COPY.
bool peer_postgres_copy(const char *address);

#ifdef __cplusplus
}
#endif
