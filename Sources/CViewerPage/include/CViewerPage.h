#ifndef CViewerPage_h
#define CViewerPage_h

#include <stddef.h>

struct CViewerPageFile {
  /// Such as `app.js`.
  const char *name;
  const unsigned char *bytes;
  size_t byteCount;
};

/// The file with that index, or NULL after the last one.
const struct CViewerPageFile *CViewerPageFile(size_t index);

#endif
