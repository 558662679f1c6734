/// The shared log of a journal, and this node's position in it.
public struct SharingStatus: Sendable {
  /// The address of the shared log, without a password.
  public let address: String
  /// How commits are made durable there; nil if the server can't be reached.
  public package(set) var summary: String?
  /// Why commits wait at the moment, in a sentence: for example, no synchronous standby is connected. Nil if they do not,
  /// or if the server does not tell this node's role.
  public package(set) var warning: String?
  /// The newest entry in the shared log; nil if the server can't be reached.
  public package(set) var newestRevision: Revision?
  /// How many entries this node has not seen yet; nil if the server can't be reached, or has another history.
  public package(set) var missingCount: Int?
  /// Why the server can't be reached, or how the histories differ.
  public package(set) var problem: JournalError?
  /// Whether the problem is that something was erased from the shared history, and not from this node's folder.
  package var isBeforeErasure = false

  package init(address: String) { self.address = address }
}
