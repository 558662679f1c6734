// Records, values and digests are part of this module's API, so importing it imports them.
@_exported public import CBOR
@_exported public import SHA256
