// The C library of PostgreSQL, as the system has it.
#pragma once

#include <libpq-fe.h>
