// Records, their values and digests are part of this module's own vocabulary: who imports it has them.
@_exported public import CBOR
@_exported public import SHA256
