import AuthDomain
import Glibc
import JOSE
import ParleyAPI
import RPC

/// Three copies of the service on one database, as three machines run it: each with loops, ports and connections of its own, and one
/// time of day for all.
struct ServiceTrio: Sendable {
  /// Limits that no test here is about, and signing keys that follow each other as fast as may be set.
  static let settings = [
    "PARLEY_AUTH_SIGN_IN_PER_MIN": "1000000", "PARLEY_AUTH_SIGN_IN_BURST": "1000000",
    "PARLEY_AUTH_REFRESH_IP_PER_MIN": "1000000", "PARLEY_AUTH_REFRESH_IP_BURST": "1000000",
    "PARLEY_AUTH_REFRESH_PER_MIN": "1000000", "PARLEY_AUTH_REFRESH_BURST": "1000000",
    "PARLEY_AUTH_SIGNING_KEY_PERIOD": "1h", "PARLEY_AUTH_SIGNING_KEY_PUBLISHED_AHEAD": "15m",
    "PARLEY_AUTH_LOOPS": "1", "PARLEY_AUTH_LOG_LEVEL": "info",
  ]

  let copies: [BrokerFixture]
  let clock: VirtualClock
  let database: BrokerDatabase

  /// Starts them for the length of `body`.
  static func with(_ body: @escaping @Sendable (ServiceTrio) async throws -> Void) async throws {
    let (google, clock) = (FakeGoogle(), VirtualClock())
    try await BrokerDatabase.with { database in
      let folders = try database.withFolders(3)
      try await BrokerFixture.with(folders[0], google: google, clock: clock, settings: settings) { first in
        try await BrokerFixture.with(folders[1], google: google, clock: clock, settings: settings) { second in
          try await BrokerFixture.with(folders[2], google: google, clock: clock, settings: settings) { third in
            try await body(ServiceTrio(copies: [first, second, third], clock: clock, database: database))
          }
        }
      }
    }
  }
}

extension BrokerDatabase {
  /// The same database for so many copies, each with files of its own; they go with the database's folder.
  fileprivate func withFolders(_ count: Int) throws -> [BrokerDatabase] {
    try (0..<count).map { number in
      let folder = "\(directory)/copy-\(number)"
      guard mkdir(folder, 0o700) == 0 else { throw TestFailure("no folder \(folder)") }
      return BrokerDatabase(superuser: superuser, directory: folder, servingURL: servingURL)
    }
  }
}

extension String {
  /// The session and the generation that a refresh token says.
  var refreshTokenParts: (session: SessionID, generation: Int)? {
    RefreshToken(self, decode: { Base64URL.decode($0) }).map { ($0.session, Int($0.generation)) }
  }
}
