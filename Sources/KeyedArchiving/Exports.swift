// Bytes, errors, the container and its writer are part of this module's API, so importing it imports them.
@_exported public import PropertyLists
