// GNU libmicrohttpd, as the system has it.
#pragma once

#include <microhttpd.h>
