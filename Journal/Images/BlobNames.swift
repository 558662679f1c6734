package import Files

/// The names in the folder of blobs: for a blob, its SHA-256 in 64 lowercase hexadecimal digits; for an unfinished one,
/// 16 random digits with a suffix.
package enum BlobNames {
  /// A name for a blob whose digest is not known yet.
  package static func unfinished() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + Folder.temporarySuffix
  }

  static func isDigest(_ name: String) -> Bool { unsafe name.withCString { unsafe hasFormOfDigest($0) } }

  static func isUnfinished(_ name: String) -> Bool {
    guard name.hasSuffix(Folder.temporarySuffix) else { return false }
    let digits = name.dropLast(Folder.temporarySuffix.count)
    return [16, 64].contains(digits.utf8.count) && digits.allSatisfy { $0.isHexDigit && !$0.isUppercase }
  }

  /// Removes leftovers of unfinished blobs. The caller has the journal's lock.
  package static func removeUnfinished(in folder: Files.Folder<JournalError>) throws(JournalError) {
    for name in try unfinished(in: folder) { try folder.removeFile(name) }
  }

  static func unfinished(in folder: Folder) throws(JournalError) -> [String] {
    var names: [String] = []
    try unsafe folder.forEachName { name, kind in
      if unsafe !hasFormOfDigest(name) {
        let name = unsafe String(cString: name)
        if kind == .file, isUnfinished(name) { names.append(name) }
      }
      return true
    }
    return names.sorted()
  }

  /// Whether a name has 64 lowercase hexadecimal digits. Takes a C string, so that no `String` is made of each name.
  static func hasFormOfDigest(_ name: UnsafePointer<CChar>) -> Bool {
    for index in 0..<64 {
      switch unsafe UInt8(bitPattern: name[index]) {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): continue
      default: return false
      }
    }
    return unsafe name[64] == 0
  }
}
