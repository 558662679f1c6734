// A catalog is of no use without its journal: who imports this module has both.
@_exported public import Journaling
