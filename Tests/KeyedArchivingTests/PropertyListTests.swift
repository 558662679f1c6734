import KeyedArchiving
import Testing

@Suite struct PropertyListTests {
  @Test func theSmallestPropertyListHolds42Bytes() throws {
    var bytes = Array("bplist00".utf8) + [0x08, 0x08] + [UInt8](repeating: 0, count: 32)
    bytes[10 + 6] = 1
    bytes[10 + 7] = 1
    bytes[10 + 15] = 1
    bytes[10 + 31] = 9
    let list = try PropertyList(ArchiveBytes(bytes))
    #expect(list.objectCount == 1)
    #expect(try list.value() == .bool(false))
  }
}
