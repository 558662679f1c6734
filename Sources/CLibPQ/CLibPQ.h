// The system's C library of PostgreSQL.
#pragma once

#include <libpq-fe.h>
