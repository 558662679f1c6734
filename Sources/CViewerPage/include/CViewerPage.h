#ifndef CViewerPage_h
#define CViewerPage_h

#include <stddef.h>

struct CViewerPageFile {
  /// The name, such as `app.js`.
  const char *name;
  const unsigned char *bytes;
  size_t byteCount;
};

/// The file at an index, or NULL if there are no more files.
const struct CViewerPageFile *CViewerPageFile(size_t index);

#endif
