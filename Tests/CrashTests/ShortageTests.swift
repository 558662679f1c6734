import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import TestSupport
import Testing

extension Battery {
  /// Gives a process (`CrashChild`) too few file descriptors.
  @Suite struct ShortageTests {
    /// If descriptors ran out at the first commit, the process used to end, or the journal used to refuse further
    /// commits although nothing had been written.
    @Test func withTooFewDescriptorsNothingIsLostAndCommitsContinueOnceThereAreMore() throws {
      try withFolderInMemory { folder in
        let url = URL(fileURLWithPath: "\(folder)/Log.journal")
        try Journal<Logbook>.create(at: url).close()
        var acknowledged: Revision = 0
        var (refused, opened, whole) = (0, 0, 0)
        // Begin with no free descriptor, and end when nothing fails any more.
        for count in 4...200 where whole < 4 {
          let lines = try run(url, descriptors: count)
          for line in lines {
            let code = line.split(separator: ": ").last.map(String.init) ?? ""
            let isAnswer = ["ok", "outOfResources"].contains(code) || line.hasPrefix("revision ")
            #expect(isAnswer, "\(count) descriptors: \(line)")
            if line.hasPrefix("revision "), let revision = Revision(line.dropFirst(9)) {
              acknowledged = max(acknowledged, revision)
            }
          }
          if lines.first == "open: ok" {
            opened += 1
            let late = lines.filter {
              $0.hasPrefix("enough") || $0.hasPrefix("verify") || $0.hasPrefix("close")
            }
            #expect(
              late.count == 9 && late.allSatisfy { $0.hasSuffix(": ok") }, "\(count): \(late)")
            if lines.allSatisfy({ $0.hasSuffix(": ok") || $0.hasPrefix("revision") }) { whole += 1 }
          } else {
            refused += 1
            #expect(
              lines == ["open: outOfResources"] || lines.isEmpty, "\(count) descriptors: \(lines)")
          }
          let journal = try Journal<Logbook>.open(at: url)
          #expect(journal.head.revision >= acknowledged, "\(count) descriptors")
          #expect(try journal.verify().isSound)
          try journal.close()
        }
        print(
          "descriptors: \(refused) times too few to open, \(opened) times enough, \(acknowledged) commits"
        )
        #expect(refused > 0 && opened > whole && whole == 4)
      }
    }

    /// By default, the system ends a process that writes beyond its file size limit.
    @Test func exceedingTheFileSizeLimitIsAnErrorAndDoesNotEndTheProcess() throws {
      try withFolderInMemory { folder in
        let url = URL(fileURLWithPath: "\(folder)/Log.journal")
        try Journal<Logbook>.create(at: url).close()
        let lines = try run(url, descriptors: 200, limitingFilesTo: 64 << 10)
        #expect(lines.contains("short blob: io"))
        #expect(lines.contains("enough commit: ok") && lines.last == "close: ok", "\(lines)")
        #expect(try Journal<Logbook>.open(at: url).verify().isSound)
      }
    }

    @Test func processesThatRaceToMakeAJournalOpenItOrFindItLocked() throws {
      for _ in 0..<Battery.size(10, long: 1000) {
        try withFolderInMemory { folder in
          let url = URL(fileURLWithPath: "\(folder)/Log.journal")
          let processes = try (0..<4).map { _ in
            let (process, output, errors) = (Process(), Pipe(), Pipe())
            process.executableURL = try child
            process.arguments = [url.path, "1", "0", "1"]
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            return (process, output, errors)
          }
          var opened = 0
          for (process, output, errors) in processes {
            // Processes that find the journal locked end, which ends their output.
            if output.fileHandleForReading.availableData.isEmpty {
              let complaint = try errors.fileHandleForReading.readToEnd() ?? Data()
              let text = String(decoding: complaint, as: UTF8.self)
              #expect(text.contains("another process has the journal open"))
            } else {
              opened += 1
            }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
          }
          #expect(opened >= 1)
          let journal = try Journal<Logbook>.open(at: url)
          #expect(try journal.verify().isSound)
          try journal.close()
          #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["Log.journal"])
        }
      }
    }

    private var child: URL {
      get throws {
        let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
        return executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
      }
    }

    private func run(
      _ url: URL, descriptors: Int, limitingFilesTo byteCount: Int? = nil
    ) throws -> [String] {
      let process = Process()
      process.executableURL = try child
      process.arguments = ["descriptors", url.path, "\(descriptors)"]
      if let byteCount {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["prlimit", "--fsize=\(byteCount)", try child.path] + (process.arguments ?? [])
      }
      let output = Pipe()
      process.standardOutput = output
      try process.run()
      // A process that hangs is killed, and the check of its exit status then fails.
      let watchdog = DispatchWorkItem { kill(process.processIdentifier, SIGKILL) }
      DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: watchdog)
      let said = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      watchdog.cancel()
      #expect(
        process.terminationReason == .exit && process.terminationStatus == 0,
        "\(descriptors) descriptors: ended by \(process.terminationStatus)")
      return String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }
}
