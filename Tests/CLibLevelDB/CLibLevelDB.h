// LevelDB's own C interface.
#pragma once

#include <leveldb/c.h>
