import Glibc
import JSON
import Synchronization
import TestSupport
import Testing

@Suite("Command line: the account") struct AccountToolTests {
  private let home: Home
  private let accounts = StubAccounts()
  private let data: StubAccountData

  init() throws {
    home = try Home()
    data = StubAccountData(accounts)
  }

  /// Somebody who is signed in, with a sandbox that can show a token of theirs once more.
  private func signedIn(_ body: @escaping @Sendable ([String: String]) async throws -> Void) async throws {
    let (home, accounts, data) = (home, accounts, data)
    try await RunningSandbox.run { running in
      try await accounts.serve(data) { target in
        let environment = [
          "HOME": home.path, "PARLEY_TARGET": target, "PARLEY_SANDBOX": running.url, "PARLEY_AUDIENCE": "app",
          "PARLEY_CA_FILE": running.caFile.path,
        ]
        #expect(try await ToolProcess.parley(["login"], environment: environment).status == 0)
        try await body(environment)
      }
    }
  }

  private static func text(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = fread(&buffer, 1, buffer.count, file)
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }

  @Test("AUTH-S6: an export steps up by itself at the sandbox, is followed to its end, and becomes files of one's own")
  func export() async throws {
    let (home, data) = (home, data)
    try await signedIn { environment in
      let folder = home.path + "/export"
      defer { _ = try? ChildProcess.run(["rm", "-rf", folder], output: "/dev/null") }
      let ending = try await ToolProcess.parley(["account", "export", folder, "--json"], environment: environment)
      #expect(ending.status == 0, "\(ending.errors)")
      #expect(data.state.withLock { $0.seen.count } == 1)
      let said = try parsed(ending.output)
      #expect(said["work"]?["state"]?.string == "done" && said["documents"]?.array?.count == 3)
      #expect(Self.text(folder + "/notes/note.txt") == "hello" && Self.text(folder + "/notes/empty.jsonl") == "")
      var status = stat()
      #expect(stat(folder + "/notes/note.txt", &status) == 0 && status.st_mode & 0o777 == 0o600)
      #expect(ending.errors.contains("service.notes: done"))
      // A folder that is there is left as it is.
      let again = try await ToolProcess.parley(["account", "export", folder, "--work", "work-1"], environment: environment)
      #expect(again.status == 64 && again.errors.contains("cannot be made"), "\(again.errors)")
      let unknown = try await ToolProcess.parley(["account", "export", folder + "2", "--work", "x"], environment: environment)
      #expect(unknown.status == 1 && unknown.errors.contains("ACCOUNT_WORK_NOT_FOUND"))
      let shown = try await ToolProcess.parley(["account", "report", "--work", "work-1"], environment: environment)
      #expect(shown.output.contains("bills") && shown.output.contains("The law."), "\(shown.errors)")
    }
  }

  @Test("An export that is damaged, or whose documents have names that lead elsewhere, is refused")
  func damaged() async throws {
    let (home, data) = (home, data)
    try await signedIn { environment in
      let folder = home.path + "/damaged"
      defer { _ = try? ChildProcess.run(["rm", "-rf", folder, folder + "2"], output: "/dev/null") }
      data.state.withLock { $0.isDamaged = true }
      let damaged = try await ToolProcess.parley(["account", "export", folder], environment: environment)
      #expect(damaged.status != 0 && damaged.errors.contains("notes/sessions.jsonl is damaged"), "\(damaged.errors)")
      data.state.withLock { state in
        state.isDamaged = false
        state.documents = [("../../out", Array("x".utf8))]
      }
      let escaping = try await ToolProcess.parley(["account", "export", folder + "2"], environment: environment)
      #expect(escaping.status != 0 && escaping.errors.contains("is no name"), "\(escaping.errors)")
      #expect(access(home.path + "/out", F_OK) != 0)
    }
  }

  @Test("AUTH-M9: a deletion has to be meant, tells its receipt, is followed to its end, and leaves nobody signed in")
  func delete() async throws {
    let (home, data) = (home, data)
    try await signedIn { environment in
      let unmeant = try await ToolProcess.parley(["account", "delete"], environment: environment)
      #expect(unmeant.status == 64 && !data.state.withLock { $0.isDeleted })
      let ending = try await ToolProcess.parley(["account", "delete", "--yes"], environment: environment)
      #expect(ending.status == 0, "\(ending.errors)")
      #expect(ending.output.contains("receipt  \(StubAccountData.receipt)\n") && ending.output.contains("state    done\n"))
      #expect(data.state.withLock { $0.isDeleted } && home.files.isEmpty)
      let report = try await ToolProcess.parley(
        ["account", "report", "--receipt", StubAccountData.receipt, "--json"], environment: environment)
      #expect(try parsed(report.output)["work"]?["steps"]?.array?.first?["counts"]?.array?.count == 2, "\(report.errors)")
      let wrong = try await ToolProcess.parley(["account", "report", "--receipt", "prd1_x"], environment: environment)
      #expect(wrong.status == 1 && wrong.errors.contains("RECEIPT_UNKNOWN"))
      #expect(try await ToolProcess.parley(["account", "report"], environment: environment).status == 64)
    }
  }

  @Test("AUTH-S6: without a sandbox the person is told to sign in again")
  func realProvider() async throws {
    try await signedIn { environment in
      var real = environment
      real["PARLEY_SANDBOX"] = nil
      let ending = try await ToolProcess.parley(["account", "delete", "--yes"], environment: real)
      #expect(
        ending.status == 1 && ending.errors.contains("STEP_UP_REQUIRED") && ending.errors.contains("run 'parley login' again"))
    }
  }
}
