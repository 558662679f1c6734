#include "CLevelDB.h"
