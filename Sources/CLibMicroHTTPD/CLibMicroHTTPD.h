// The system's GNU libmicrohttpd.
#pragma once

#include <microhttpd.h>
