import AuthDomain
import ParleyAPI
import PostgreSQL
import RPC
import Synchronization
import TestSupport
import Testing

@Suite("At once, through three instances", .serialized)
struct InstanceConcurrencyTests {
  /// How many calls of each kind ended in which way.
  private static func endings(
    _ count: Int, _ trio: ServiceTrio, _ call: @escaping @Sendable (Int, BrokerFixture) async -> String
  ) async -> [String: Int] {
    await withTaskGroup(of: String.self) { tasks in
      for number in 0..<count { tasks.addTask { await call(number, trio.copies[number % trio.copies.count]) } }
      return await tasks.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
  }

  @Test("AUTH-M2: of 100 refreshes of one token at once over gRPC one gets the next, one family lives, nobody is logged out")
  func hundredRefreshes() async throws {
    try await ServiceTrio.with { trio in
      let given = try #require(try await trio.copies[0].signIn().tokens)
      let other = try #require(try await trio.copies[1].signIn().tokens)
      let handedOut = Handed()
      let endings = await Self.endings(100, trio) { number, copy in
        await ending { () async throws(RPCError) in
          handedOut.add(try await copy.refresh(given.refreshToken, attempt: "attempt, number \(number)").refreshToken)
        }
      }
      #expect(endings == ["OK": 1, "ABORTED REFRESH_RACED": 99])
      let next = try #require(handedOut.all.first)
      // The one that won goes on, at each instance; so does the person's other session.
      for copy in trio.copies {
        let answer = await ending { () async throws(RPCError) in
          try await copy.auth.getProfile(options: copy.from("192.0.2.1", given.accessToken))
        }
        #expect(answer == "OK")
      }
      let after = try await trio.copies[2].refresh(next, attempt: "the one after that")
      #expect(after.refreshToken.refreshTokenParts?.generation == 2)
      #expect(await ending { () async throws(RPCError) in try await trio.copies[0].refresh(other.refreshToken) } == "OK")
      let alive = try await trio.database.value(
        "select count(*) from auth.session where ended_at is null and generation > 0", as: Int.self)
      let ends = try await trio.database.value("select count(*) from auth.revocation", as: Int.self)
      let refusals = try await trio.database.value(
        "select count(*) from auth.activity where outcome = 'refused'", as: Int.self)
      #expect((alive, ends, refusals) == (2, 0, 0))
    }
  }

  @Test("AUTH-M2: 100 requests of one attempt at once over gRPC all get the same token, and it serves")
  func oneAttempt() async throws {
    try await ServiceTrio.with { trio in
      let given = try #require(try await trio.copies[0].signIn().tokens)
      let handedOut = Handed()
      let endings = await Self.endings(100, trio) { _, copy in
        await ending { () async throws(RPCError) in
          handedOut.add(try await copy.refresh(given.refreshToken, attempt: "the only attempt").refreshToken)
        }
      }
      #expect(endings == ["OK": 100] && Set(handedOut.all).count == 1)
      let next = try #require(handedOut.all.first)
      #expect(try await trio.copies[1].refresh(next).refreshToken.refreshTokenParts?.generation == 2)
    }
  }

  @Test("Supabase #2612, AUTH-M1: of 50 exchanges of one ID token at once through three instances exactly one succeeds")
  func fiftyExchanges() async throws {
    try await ServiceTrio.with { trio in
      let nonce = try await trio.copies[0].nonce()
      let request = SignInWithGoogleRequest(idToken: trio.copies[0].googleToken(nonce: nonce.nonce), nonce: nonce.nonce)
      let endings = await Self.endings(50, trio) { number, copy in
        await ending { () async throws(RPCError) in
          try await copy.auth.signInWithGoogle(request, options: copy.from("198.51.100.\(number)"))
        }
      }
      #expect(endings == ["OK": 1, "UNAUTHENTICATED ID_TOKEN_REPLAYED": 49])
      let sessions = try await trio.database.value("select count(*) from auth.session", as: Int.self)
      let accounts = try await trio.database.value("select count(*) from auth.account", as: Int.self)
      #expect((sessions, accounts) == (1, 1))
    }
  }

  @Test("AUTH-M3: three instances that find the next signing key due at once make one, and each takes what the others sign")
  func rotation() async throws {
    try await ServiceTrio.with { trio in
      var tokens = [try #require(try await trio.copies[0].signIn().tokens)]
      for _ in 0..<8 {
        // Each time past the moment when the next key is to be made, or to sign.
        trio.clock.advance(by: .seconds(900))
        let at = trio.clock.wall
        let fresh = try await withThrowingTaskGroup(of: SessionTokens?.self) { tasks in
          for number in 0..<12 { tasks.addTask { try await trio.copies[number % 3].signIn("u\(number)").tokens } }
          return try await tasks.reduce(into: []) { $0.append($1) }.compactMap { $0 }
        }
        #expect(fresh.count == 12 && trio.clock.wall == at)
        // What was signed just before the clock moved, too: its key is served until the last token has run out.
        for token in fresh {
          for copy in trio.copies {
            let answer = await ending { () async throws(RPCError) in
              try await copy.auth.getProfile(options: copy.from("192.0.2.1", token.accessToken))
            }
            #expect(answer == "OK")
          }
        }
        tokens = fresh
        trio.clock.advance(by: .seconds(299))
        for token in tokens.prefix(3) {
          for copy in trio.copies {
            let answer = await ending { () async throws(RPCError) in
              try await copy.auth.getProfile(options: copy.from("192.0.2.1", token.accessToken))
            }
            #expect(answer == "OK")
          }
        }
      }
      let made = try await trio.database.value("select max(generation)::bigint from auth.signing_key", as: Int.self) ?? 0
      // 9,592 s at one an hour, the next one a quarter of an hour ahead.
      #expect(made == 3)
    }
  }
}

/// What was handed out, in any order.
private final class Handed: Sendable {
  private let tokens = Mutex<[String]>([])
  var all: [String] { tokens.withLock { $0 } }
  func add(_ token: String) { tokens.withLock { $0.append(token) } }
}
