import TestSupport
import Testing

@testable import Journaling

struct CRC32CTests {
  @Test func theChecksumIsTheStandardOne() {
    #expect(CRC32C.checksum("123456789".utf8) == 0xE306_9283)
  }

  @Test func theProcessorInstructionAndTheTablesGiveTheSameChecksum() {
    var generator = SeededGenerator()
    // From 3,072 bytes on, the instruction is used on three parts at once.
    for count in [Array(0..<200), Array(3_065..<3_085), [6_143, 6_144, 6_145, 16_384, 100_000]].joined() {
      let bytes = generator.bytes(count)
      let cut = Int.random(in: 0...count, using: &generator)
      var whole = CRC32C()
      var pieces = CRC32C()
      var tables = CRC32C()
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe whole.update(bytes)
        unsafe pieces.update(UnsafeRawBufferPointer(rebasing: bytes[..<cut]))
        unsafe pieces.update(UnsafeRawBufferPointer(rebasing: bytes[cut...]))
        unsafe tables.updateWithTables(UnsafeRawBufferPointer(rebasing: bytes[..<cut]))
        unsafe tables.updateWithTables(UnsafeRawBufferPointer(rebasing: bytes[cut...]))
      }
      let expected = CRC32C.checksum(bytes)
      #expect(whole.value == expected)
      #expect(pieces.value == expected)
      #expect(tables.value == expected)
    }
  }
}
