import CBOR
import PropertyLists

extension LayerReader {
  /// The highest number that was given to an entity.
  func number(_ header: ObjectHeader) throws(ArchiveError) -> Int {
    let number = try count(header)
    guard number <= LayerEntities.numberLimit else { throw Self.foreign(at: header.offset) }
    return number
  }

  /// The lists of keys of the records in blocks.
  func keyLists(_ header: ObjectHeader) throws(ArchiveError) -> [RecordKeys] {
    let elements = try elements(of: header)
    guard elements.count <= RecordPacker.listLimit else { throw Self.foreign(at: header.offset) }
    var lists: [RecordKeys] = []
    var byteCount = 0
    for index in 0..<elements.count {
      let keys = try self.elements(of: try resolve(try list.reference(elements, index)))
      var writer = CBORWriter()
      for index in 0..<keys.count {
        let key = try resolve(try list.reference(keys, index))
        if key.kind == .integer {
          writer.append(unsigned: UInt64(try count(key)))
        } else {
          writer.append(text: try string(key))
        }
        guard byteCount + writer.count <= RecordPacker.keyByteLimit else {
          throw Self.foreign(at: keys.offset)
        }
      }
      byteCount += writer.count
      do throws(CBORError) { lists.append(try RecordKeys(writer.finish())) } catch {
        throw Self.foreign(at: keys.offset)
      }
    }
    return lists
  }

  /// The object numbers of the names of fields: they are among the first objects of the archive.
  func fieldKeys(_ fields: [[String]]) throws(ArchiveError) -> [[Int]] {
    var numbers: [[UInt8]: Int] = [:]
    let bound = min(list.objectCount, 64 + fields.reduce(0) { $0 + $1.count + 8 })
    for number in 0..<bound {
      let header = try list.header(number)
      guard header.kind.isString else { continue }
      let text = Array(try list.string(header).utf8)
      if numbers[text] == nil { numbers[text] = number }
    }
    var keys: [[Int]] = []
    for names in fields {
      var found: [Int] = []
      for name in names {
        guard let number = numbers[Array(name.utf8)] else { throw Self.foreign(at: 0) }
        found.append(number)
      }
      keys.append(found)
    }
    return keys
  }
}
