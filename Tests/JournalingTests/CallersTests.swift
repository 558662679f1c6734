import Foundation
import Journaling
import Testing

/// Commits from every place where an app commits, written as an app writes them. That this file compiles is half of the
/// test.
@Suite struct CallersTests {
  /// An object of an app that must not leave its actor.
  private final class Form {
    var owner = "Ana"
    var saved: [Int] = []
  }

  @MainActor private final class ViewModel {
    let journal: Journal<Ledger>
    let form = Form()
    var message = ""

    init(_ journal: Journal<Ledger>) { self.journal = journal }

    func save() async throws {
      let number = try await journal.commit(by: form.owner) { draft in
        message = "saving \(form.owner)"
        return try draft.open(owner: form.owner)
      }.value
      form.saved.append(number)
    }

    func saveInATask() async throws {
      try await Task {
        let commit = try await journal.commit { draft in
          form.saved.append(try draft.open(owner: form.owner))
        }
        message = "saved by revision \(commit.revision)"
      }.value
    }

    /// What the body returns need not be `Sendable`.
    func saveAndKeepTheForm() async throws -> Form {
      try await journal.commit { draft in
        form.saved.append(try draft.open(owner: form.owner))
        return form
      }.value
    }

    func firstNewOwner() async throws -> String {
      for try await entry in journal.newEntries(after: 0) {
        form.saved.append(entry.revision)
        return "\(entry.revision)"
      }
      return ""
    }
  }

  private actor Clerk {
    let journal: Journal<Ledger>
    var served = 0
    let form = Form()

    init(_ journal: Journal<Ledger>) { self.journal = journal }

    func serve(_ owner: String) async throws -> Revision {
      try await journal.commit { draft in
        served += 1
        form.saved.append(try draft.open(owner: "\(owner) \(served)"))
      }.revision
    }

    func serveInATask() async throws {
      try await Task {
        _ = try await journal.commit { draft in form.saved.append(try draft.open(owner: "Task")) }
      }.value
    }
  }

  private nonisolated func add(_ owner: String, to journal: Journal<Ledger>) async throws -> Form {
    let form = Form()
    form.owner = owner
    return try await journal.commit { draft in
      form.saved.append(try draft.open(owner: form.owner))
      return form
    }.value
  }

  @Test @MainActor func aTypeOnTheMainActorCommitsWithItsOwnProperties() async throws {
    try await withLedger { journal, _ in
      let model = ViewModel(journal)
      try await model.save()
      try await model.saveInATask()
      #expect(try await model.saveAndKeepTheForm() === model.form)
      #expect(model.form.saved == [1, 2, 3])
      #expect(model.message == "saved by revision 2")
      #expect(try await model.firstNewOwner() == "1")
    }
  }

  @Test func anActorCommitsWithItsState() async throws {
    try await withLedger { journal, _ in
      let clerk = Clerk(journal)
      #expect(try await clerk.serve("Ana") == 1)
      try await clerk.serveInATask()
      #expect(await clerk.served == 1)
      #expect(journal.state.accounts[1]?.owner == "Ana 1")
      #expect(journal.state.accounts[2]?.owner == "Task")
    }
  }

  @Test func anAsynchronousFunctionOfNoActorCommits() async throws {
    try await withLedger { journal, _ in
      let form = try await add("Ana", to: journal)
      #expect(form.saved == [1])
      async let bob = journal.commit { try $0.open(owner: "Bob") }.value
      async let eve = journal.commit { try $0.open(owner: "Eve") }.value
      #expect(try await Set([bob, eve]) == [2, 3])
    }
  }

  @Test func detachedTasksAndTaskGroupsCommit() async throws {
    try await withLedger { journal, _ in
      let owner = "Ana"
      let number = try await Task.detached { try await journal.commit { try $0.open(owner: owner) }.value }
        .value
      #expect(number == 1)
      let kept = try await Task.detached {
        let form = Form()
        try await journal.commit { draft in form.saved.append(try draft.open(owner: form.owner)) }
        return form.saved
      }.value
      #expect(kept == [2])
      try await withThrowingTaskGroup(of: Int.self) { group in
        for turn in 0..<8 {
          group.addTask { try await journal.commit { try $0.open(owner: "\(turn)") }.value }
        }
        var numbers: Set<Int> = []
        for try await number in group { numbers.insert(number) }
        #expect(numbers == Set(3...10))
      }
    }
  }

  @Test func aBodyRunsOnTheActorOfItsCaller() async throws {
    try await withLedger { journal, _ in
      try await Task { @MainActor in
        try await journal.commit { draft in
          MainActor.preconditionIsolated()
          _ = try draft.open(owner: "Ana")
        }
        MainActor.preconditionIsolated()
      }.value
    }
  }
}
