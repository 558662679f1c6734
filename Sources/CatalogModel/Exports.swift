// A catalog is of no use without its journal, so importing this module imports both.
@_exported public import Journaling
