package import Foundation

extension URL {
  /// The path of a file or folder that a user named, without a `/` at its end.
  ///
  /// In this path, `..` after a link leads to the folder above the link's target. `URL` removes both names instead.
  package var physicalPath: String {
    var path = resolvingDots() ?? standardizedFileURL.path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  /// The path with its links and `..` resolved; nil if the URL has no `..` in it.
  private func resolvingDots() -> String? {
    var names = relativePath.split(separator: "/")
    guard names.contains("..") else { return nil }
    let isAbsolute = relativePath.hasPrefix("/")
    let name = names.last == ".." ? nil : names.popLast()
    let start = isAbsolute ? "" : baseURL?.path ?? FileManager.default.currentDirectoryPath
    let given = "\(start)/\(names.joined(separator: "/"))"
    // If the folder can't be opened, the path stays as given, so that using it fails too.
    let folder = (try? Folder<PathFailure>(given, followsLinks: true, hook: nil))?.currentPath() ?? given
    return name.map { "\(folder)/\($0)" } ?? folder
  }
}

/// The error is dropped: any failure means that the path stays as given.
private struct PathFailure: FileFailure {
  init(_: FileError) {}
}
