import Glibc
import JOSE
import JSON
import Synchronization
import Testing

@testable import parley

@Suite("Command line: sessions") struct SessionToolTests {
  private let home: Home
  private let accounts = StubAccounts()

  init() throws { home = try Home() }

  private func parley(_ target: String, _ arguments: String...) async throws -> ToolProcess.Ending {
    try await ToolProcess.parley(arguments, environment: ["HOME": home.path, "PARLEY_TARGET": target])
  }

  /// A token whose signature nobody checks, with the nonce that the provider was told.
  private func token(_ providerNonce: String) throws -> ScratchFile {
    let claims: JSONValue = ["sub": "ana", "nonce": .string(providerNonce)]
    return try ScratchFile(Array("e30.\(Base64URL.encode(claims.encoded())).e30\n".utf8))
  }

  /// Signs in and returns the session's identifier.
  @discardableResult
  private func login(_ target: String, _ provider: String = "google") async throws -> String {
    let begun = try parsed(try await parley(target, "login", "--begin", "--json").output)
    let file = try token(begun["provider_nonce"]?.string ?? "")
    let ending = try await parley(
      target, "login", "--provider", provider, "--id-token-file", file.path, "--nonce", begun["nonce"]?.string ?? "", "--json")
    #expect(ending.status == 0, "\(ending.errors)")
    return try parsed(ending.output)["session_id"]?.string ?? ""
  }

  @Test("B-47: login in two steps keeps a session in a file of one's own; whoami says who; logout ends both")
  func loginAndLogout() async throws {
    try await accounts.serve { target in
      let id = try await login(target)
      #expect(id.hasPrefix("session-"))
      let file = try #require(home.files.first)
      var status = stat()
      #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
      #expect(stat(home.folder, &status) == 0 && status.st_mode & 0o777 == 0o700)
      let shown = try await parley(target, "whoami")
      #expect(shown.output.contains("name      Ana\n") && shown.output.contains("e-mail    ana@example.org\n"), "\(shown.errors)")
      #expect(try parsed(try await parley(target, "whoami", "--json").output)["user_id"]?.string == "user-1")
      let out = try await parley(target, "logout")
      #expect(out.status == 0 && out.output == "signed out\n", "\(out.errors)")
      #expect(home.files.isEmpty && accounts.state.withLock { $0.sessions.isEmpty })
      #expect(try await parley(target, "logout").output == "nobody was signed in\n")
      let ending = try await parley(target, "sessions", "--json")
      #expect(ending.status == 1)
      #expect(try parsed(ending.errors)["error"]?["reason"]?.string == "NOT_SIGNED_IN")
    }
  }

  @Test("B-44: a nonce serves one sign-in, with Apple too, and tokens are never printed")
  func nonce() async throws {
    try await accounts.serve { target in
      let begun = try await parley(target, "login", "--provider", "apple", "--begin")
      #expect(begun.output.contains("nonce           nonce-1\n") && begun.output.contains("provider nonce  provider-nonce-1\n"))
      let file = try token("provider-nonce-1")
      func login() async throws -> ToolProcess.Ending {
        try await parley(target, "login", "--provider", "apple", "--id-token-file", file.path, "--nonce", "nonce-1")
      }
      let first = try await login()
      #expect(first.status == 0 && first.output.contains("new account  no\n"), "\(first.errors)")
      #expect(!first.output.contains("access-") && !first.output.contains("refresh-"))
      let second = try await login()
      #expect(second.status == 1 && second.errors.contains("NONCE_UNKNOWN"))
    }
  }

  @Test("B-47: login at the sandbox makes a token that carries the nonce")
  func sandbox() async throws {
    try await RunningSandbox.run { running in
      try await accounts.serve { target in
        let ending = try await ToolProcess.parley(
          ["login", "--subject", "ana", "--json"],
          environment: [
            "XDG_STATE_HOME": home.path + "/.local/state", "PARLEY_TARGET": target, "PARLEY_SANDBOX": running.url,
            "PARLEY_AUDIENCE": "app", "PARLEY_CA_FILE": running.caFile.path,
          ])
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(try parsed(ending.output)["profile"]?["name"]?.string == "Ana")
        #expect(home.files.count == 1)
      }
    }
  }

  @Test("Sessions are listed, all pages of them, and ended one by one, all others, or all")
  func sessions() async throws {
    try await accounts.serve { target in
      for _ in 0..<4 { try await login(target) }
      let own = try await login(target)
      let listed = try parsed(try await parley(target, "sessions", "list", "--json").output)["sessions"]?.array ?? []
      #expect(listed.count == 5 && listed.filter { $0["is_current"]?.bool == true }.map { $0["id"]?.string } == [own])
      let table = try await parley(target, "sessions")
      let lines = table.output.split(separator: "\n")
      #expect(lines.count == 6 && lines[0].hasPrefix("ID"), "\(table.errors)")
      #expect(
        lines.contains {
          $0.hasPrefix("\(own)  *  parley command line  Linux") && $0.hasSuffix("2026-01-02T04:04:05Z             192.0.2.1")
        })
      let other = listed.compactMap { $0["id"]?.string }.first { $0 != own } ?? ""
      #expect(try await parley(target, "sessions", "revoke", other).output == "ended 1 session\n")
      let again = try await parley(target, "sessions", "revoke", other)
      #expect(again.status == 1 && again.errors.contains("SESSION_NOT_FOUND"))
      #expect(try await parley(target, "sessions", "revoke", "--others").output == "ended 3 sessions\n")
      #expect(home.files.count == 1)
      #expect(try parsed(try await parley(target, "sessions", "revoke", "--all", "--json").output)["revoked"]?.int64 == 1)
      #expect(home.files.isEmpty)
    }
  }

  @Test("B-46: a command refreshes a token that has run out, and the next one goes on from there")
  func refresh() async throws {
    accounts.state.withLock { $0.lifetime = 0 }
    try await accounts.serve { target in
      try await login(target)
      for count in 1...3 {
        let ending = try await parley(target, "whoami")
        #expect(ending.status == 0, "\(ending.errors)")
        #expect(accounts.state.withLock { $0.refreshes } == count)
      }
    }
  }

  @Test("A session that was ended elsewhere is told with its reason, and its tokens are removed")
  func ended() async throws {
    try await accounts.serve { target in
      try await login(target)
      accounts.state.withLock {
        $0.sessions = [:]
        $0.endReason = "SESSION_REVOKED_BY_OPERATOR"
      }
      let ending = try await parley(target, "whoami")
      #expect(ending.status == 1 && ending.errors.contains("SESSION_REVOKED_BY_OPERATOR"))
      #expect(home.files.isEmpty)
    }
  }

  @Test("B-35: a logout without the service removes the tokens, says that the service does not know, and ends with 69")
  func logoutAlone() async throws {
    try await accounts.serve { target in try await login(target) }
    let file = try #require(home.files.first)
    // The server is gone with the scope above; its address is that of the file.
    let target = accounts.lastTarget
    let ending = try await parley(target, "logout", "--timeout", "2s")
    #expect(ending.status == 69 && ending.output == "signed out\n" && ending.errors.contains("could not be told"))
    #expect(access(file, F_OK) != 0)
  }

  @Test("No target gets the tokens of another one")
  func targets() async throws {
    let others = StubAccounts()
    try await accounts.serve { target in
      try await login(target)
      try await others.serve { elsewhere in
        let ending = try await parley(elsewhere, "sessions")
        #expect(ending.status == 1 && ending.errors.contains("NOT_SIGNED_IN"))
      }
    }
    #expect(SessionPlace.name(of: "a:1") != SessionPlace.name(of: "a_1"))
    #expect(SessionPlace.name(of: "/../x").utf8.allSatisfy { $0 != UInt8(ascii: "/") })
  }

  @Test(
    "Wrong usage of a session ends with 64 and says what is wrong",
    arguments: [
      (["login", "--begin", "--nonce", "x"], "first step"), (["login", "--nonce", "x"], "belong together"),
      (["login", "--provider", "x"], "google"), (["sessions", "revoke"], "--others"),
      (["sessions", "revoke", "x", "--all"], "--others"), (["sessions"], "XDG_STATE_HOME"), (["logout"], "XDG_STATE_HOME"),
    ])
  func usage(_ arguments: [String], _ text: String) async throws {
    let ending = try await ToolProcess.parley(arguments + ["--target", "127.0.0.1:1"])
    #expect(ending.status == 64 && ending.errors.contains(text), "\(ending.errors)")
  }
}
