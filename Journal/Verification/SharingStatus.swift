/// The shared log of a journal, and this node's position in it.
public struct SharingStatus: Sendable {
  /// The address of the shared log, without a password.
  public let address: String
  /// How the server makes commits durable; nil if the server can't be reached.
  public package(set) var summary: String?
  /// Why commits wait now, in a sentence: for example, because no synchronous standby is connected. Nil if commits do
  /// not wait, or if the server does not tell this node's role.
  public package(set) var warning: String?
  /// The newest entry in the shared log; nil if the server can't be reached.
  public package(set) var newestRevision: Revision?
  /// The number of entries that this node lacks; nil if the server can't be reached, or has another history.
  public package(set) var missingCount: Int?
  /// Why the server can't be reached, or how the histories differ; nil if there is no problem.
  public package(set) var problem: JournalError?
  /// Whether ``problem`` is an erasure in the shared history that this node's folder does not have.
  package var isBeforeErasure = false

  package init(address: String) { self.address = address }
}
