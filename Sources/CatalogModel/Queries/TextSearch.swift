import CBOR
import Foundation

extension FieldValue {
  /// Whether a text occurs in a text of this value. Keys are not searched. Values are nested at most 127 deep.
  package func hasText(_ text: String) -> Bool {
    switch self {
    case .string(let value): value.containsIgnoringCase(text)
    case .array(let elements): elements.contains { $0.hasText(text) }
    case .dictionary(let members): members.values.contains { $0.hasText(text) }
    default: false
    }
  }
}

extension String {
  package func containsIgnoringCase(_ text: String) -> Bool {
    // Most texts are ASCII. For these, comparing bytes gives the same answer in a fraction of the time.
    let (bytes, wanted) = (utf8.map(\.lowercasedASCII), text.utf8.map(\.lowercasedASCII))
    guard let first = wanted.first, !bytes.contains(where: { $0 >= 0x80 }),
      !wanted.contains(where: { $0 >= 0x80 })
    else { return range(of: text, options: .caseInsensitive) != nil }
    guard bytes.count >= wanted.count else { return false }
    return (0...bytes.count - wanted.count).contains { start in
      bytes[start] == first && bytes[start..<start + wanted.count].elementsEqual(wanted)
    }
  }
}

extension UInt8 {
  fileprivate var lowercasedASCII: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
