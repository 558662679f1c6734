// Bytes, errors, the container and its writer are part of this module's API.
@_exported public import PropertyLists
