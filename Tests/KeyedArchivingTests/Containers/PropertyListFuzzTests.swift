import Foundation
import KeyedArchiving
import TestSupport
import Testing

/// Reading any bytes ends with a value or an error, and within the limits.
@Suite struct PropertyListFuzzTests {
  @Test func alteredPropertyListsAreReadOrRefused() throws {
    let seeds = try PropertyListMutator.seeds()
    var mutator = PropertyListMutator()
    var readCount = 0
    for number in cases(3_000) {
      let bytes = number < seeds.count ? seeds[number] : mutator.altered(seeds)
      if try read(bytes) { readCount += 1 }
    }
    #expect(readCount > 100)
  }

  /// Reads everything, and returns whether there is a tree.
  private func read(_ bytes: [UInt8]) throws -> Bool {
    let list: PropertyList
    do {
      list = try PropertyList(ArchiveBytes(bytes))
    } catch {
      #expect(!error.message.isEmpty)
      #expect(0...bytes.count ~= error.offset ?? 0, "\(error) in \(Data(bytes).base64EncodedString())")
      return false
    }
    for number in 0..<min(list.objectCount, 200) { _ = try? members(list.object(number)) }
    let value: PropertyListValue
    do {
      value = try list.value()
    } catch {
      #expect(!error.message.isEmpty)
      return false
    }
    // A value that was read can be written, and is read back as the same value.
    let written: [UInt8]
    do {
      written = try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
        try write(value, &writer)
      }
    } catch {
      #expect(error.code == .unencodable)
      return true
    }
    let reread = try PropertyList(ArchiveBytes(written)).value()
    let isSame = canonicalText(reread) == canonicalText(value)
    #expect(isSame, "\(Data(bytes).base64EncodedString())")
    return true
  }

  private func members(_ object: PropertyListObject) throws {
    switch object {
    case .array(let members), .set(let members):
      if !members.isEmpty { _ = try members.number(at: members.count - 1) }
    case .dictionary(let keys, let values):
      if !keys.isEmpty { _ = try (keys.number(at: 0), values.number(at: values.count - 1)) }
    default: break
    }
  }

  private func write(
    _ value: PropertyListValue, _ writer: inout BinaryPropertyListWriter
  ) throws(ArchiveError) -> Int {
    switch value {
    case .bool(let value): return try writer.bool(value)
    case .integer(let value): return try writer.integer(value)
    case .unsigned(let value): return try writer.unsigned(value)
    case .real(let value): return try writer.real(value)
    case .date(let value): return try writer.date(value)
    case .data(let value): return try writer.data(value)
    case .string(let value): return try writer.string(value)
    case .uid(let value): return try writer.uid(value)
    case .array(let members):
      var numbers: [Int] = []
      for member in members { numbers.append(try write(member, &writer)) }
      return try writer.array(numbers)
    case .dictionary(let members):
      var keys: [Int] = []
      var values: [Int] = []
      for member in members {
        keys.append(try write(member.key, &writer))
        values.append(try write(member.value, &writer))
      }
      return try writer.dictionary(keys: keys, values: values)
    case .null, .bigInteger, .set:
      throw ArchiveError(.unencodable, "Apple's writers don't write this, so ours doesn't either")
    }
  }
}
