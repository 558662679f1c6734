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
}
