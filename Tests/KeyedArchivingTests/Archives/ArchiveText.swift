import Foundation
import KeyedArchiving

/// An archive in XML that is put together from the texts of its entries. Entry 0 is added.
func makeArchive(
  top: [String: Int] = ["root": 1], limits: ArchiveLimits = .init(), _ entries: String...
) throws -> KeyedArchive {
  try makeArchive(topText: top.map { key($0.key) + uid($0.value) }.joined(), limits: limits, entries)
}

func makeArchive(
  topText: String, archiver: String = "NSKeyedArchiver", limits: ArchiveLimits = .init(), _ entries: [String]
) throws -> KeyedArchive {
  let text = """
    <plist version="1.0"><dict>
    <key>$version</key><integer>100000</integer><key>$archiver</key><string>\(archiver)</string>
    <key>$top</key><dict>\(topText)</dict>
    <key>$objects</key><array><string>$null</string>\(entries.joined())</array>
    </dict></plist>
    """
  return try KeyedArchive(ArchiveBytes([UInt8](text.utf8)), limits: limits)
}

func key(_ text: String) -> String { "<key>\(text)</key>" }
func uid(_ number: Int) -> String { "<dict><key>CF$UID</key><integer>\(number)</integer></dict>" }
func text(_ text: String) -> String { "<string>\(text)</string>" }
func int(_ number: Int) -> String { "<integer>\(number)</integer>" }
func real(_ number: String) -> String { "<real>\(number)</real>" }
func data(_ bytes: [UInt8]) -> String { "<data>\(Data(bytes).base64EncodedString())</data>" }
func list(_ elements: String...) -> String { "<array>\(elements.joined())</array>" }
let yes = "<true/>"
let no = "<false/>"

/// An object whose class is entry `classUID`.
func object(_ classUID: Int, _ fields: KeyValuePairs<String, String> = [:]) -> String {
  "<dict>" + fields.map { key($0.key) + $0.value }.joined() + key("$class") + uid(classUID) + "</dict>"
}

/// The description of a class, which is the first of `chain`. The others are its superclasses.
func classEntry(_ chain: String..., hints: [String] = []) -> String {
  let hintText = hints.isEmpty ? "" : key("$classhints") + "<array>\(hints.map(text).joined())</array>"
  return "<dict>" + key("$classname") + text(chain[0]) + key("$classes")
    + "<array>\((chain + ["NSObject"]).map(text).joined())</array>" + hintText + "</dict>"
}

/// The code of the error that something throws, or nil.
func code(_ body: () throws -> Void) -> ArchiveError.Code? {
  do {
    try body()
    return nil
  } catch { return (error as? ArchiveError)?.code }
}
