// The system's SQLite.
#pragma once

#include <sqlite3.h>
