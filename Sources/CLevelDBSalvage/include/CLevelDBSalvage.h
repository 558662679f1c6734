// Salvage of LevelDB databases behind a small C interface. Only diagnosis and salvage need this module, so an app that
// does neither does not compile it.

#pragma once

#include "CLevelDB.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

// The readable contents of the files of a database that can't be opened, file by file and without the manifest.
typedef struct cldb_salvage cldb_salvage;

// Reads each table and log, and calls `receive` with the name of each that has a problem and, as a value, the problem.
// Fails only if the folder can't be listed, or for a lack of descriptors or memory. Changes nothing. `folder`: see
// `cldb_open`.
cldb_salvage *_Nullable cldb_salvage_open(const char *path, int folder, cldb_receiver receive, void *context,
                                          cldb_status *status);
void cldb_salvage_free(cldb_salvage *salvage);

// Calls `receive` with each value of a key in the files. Blocks with a wrong checksum are skipped.
bool cldb_salvage_get(cldb_salvage *salvage, const void *_Nullable key, size_t key_size, cldb_receiver receive,
                      void *context, cldb_status *status);

// Calls `receive` with the last key in the files that is before `limit`, if there is one.
bool cldb_salvage_last(cldb_salvage *salvage, const void *_Nullable limit, size_t limit_size, cldb_receiver receive,
                       void *context, cldb_status *status);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif
