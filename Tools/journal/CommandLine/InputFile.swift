import Foundation

/// Reads a file or a pipe; `-` is standard input.
/// - Throws: ``Failure`` with ``ExitCode/wrongUse`` and the reason.
func inputFile(_ path: String) throws(Failure) -> Data {
  func failure(_ code: Int32) -> Failure {
    Failure.wrongUse("\(path.printable) can't be read: \(systemMessage(code))")
  }
  if path == "-" {
    do { return try FileHandle.standardInput.readToEnd() ?? Data() } catch { throw failure(errno) }
  }
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw failure(errno) }
  let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  do { return try file.readToEnd() ?? Data() } catch { throw failure(errno) }
}
