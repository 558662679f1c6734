import Foundation

/// The identity of a journal: 16 random bytes, printed as a UUID.
public struct JournalID: Hashable, Sendable, CustomStringConvertible {
  /// The 16 bytes.
  public let bytes: [UInt8]

  package init() {
    self.init(UUID())
  }

  private init(_ uuid: UUID) {
    bytes = unsafe withUnsafeBytes(of: uuid.uuid) { unsafe Array($0) }
  }

  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  package init?(_ text: some StringProtocol) {
    guard let uuid = UUID(uuidString: String(text)) else { return nil }
    self.init(uuid)
  }

  /// The id as a lowercase UUID, as FORMAT has it.
  public var description: String {
    let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    var groups: [Substring] = []
    var rest = hex[...]
    for count in [8, 4, 4, 4, 12] {
      groups.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    return groups.joined(separator: "-")
  }
}
