import AuthDomain
import EventLoop
import JOSE
import MessagesCore
import OnboardingStore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import TestParley
import TestSupport
import Testing
import Values
import WellKnown

@Suite("What people without an account may take", .serialized)
struct AnonymousBoundTests {
  /// The bytes that a record takes beside its own.
  private static let overhead = 256

  /// Hashes that are counted in the same part.
  private static func hashes(_ count: Int) -> [[UInt8]] {
    (0..<count).map { number in [16] + Array(SHA256.digest(Array("key \(number)".utf8)).dropFirst()) }
  }

  /// A record that is counted with so many bytes.
  private static func record(counted bytes: Int) -> String {
    #"{"a": ""# + String(repeating: "x", count: bytes - overhead - 9) + #""}"#
  }

  private static func kept(_ world: OnboardingWorld, _ hashes: [[UInt8]]) async throws -> [Int] {
    try await world.parley.withDatabase { database in
      var kept: [Int] = []
      for (index, hash) in hashes.enumerated() {
        let record: String? = try await database.value(
          "select record::text from onboarding.anonymous_record_lookup where key_hash = \(hash)")
        if record != nil { kept.append(index) }
      }
      return kept
    }
  }

  /// Expects that the bytes are counted as they are.
  private static func expectCount(_ world: OnboardingWorld) async throws {
    let wrong: Int64? = try await world.value(
      """
      select count(*) from onboarding.anonymous_size as counted where bytes <> coalesce((
        select sum(octet_length(record::text) + 256) from onboarding.anonymous_record_lookup as kept
        where get_byte(kept.key_hash, 0) & 15 = counted.part), 0)
      """)
    #expect(wrong == 0)
  }

  @Test("Anonymous records never take more than their bound: the oldest go, one byte beyond it and not at it (OF-03)")
  func bound() async throws {
    try await OnboardingWorld.with { world in
      let hashes = Self.hashes(5)
      let most = AnonymousRecordStore.parts * 3_000
      @Sendable func keep(_ index: Int, _ bytes: Int, at second: Int64) async throws -> Int {
        try await world.parley.withDatabase { database in
          try await AnonymousRecordStore(database).keep(
            Self.record(counted: bytes), under: hashes[index], until: Instant(seconds: 2_000_000_000 + second), most: most)
        }
      }
      #expect(try await keep(0, 1_000, at: 1) == 0)
      #expect(try await keep(1, 1_000, at: 2) == 0)
      #expect(try await keep(2, 1_000, at: 3) == 0)
      #expect(try await Self.kept(world, hashes) == [0, 1, 2], "what fits exactly is there")
      // The record of a key takes the place of its own first.
      #expect(try await keep(0, 1_000, at: 4) == 0)
      try await Self.expectCount(world)
      #expect(try await keep(0, 1_001, at: 5) == 1)
      #expect(try await Self.kept(world, hashes) == [0, 2], "the oldest has gone, and no other")
      #expect(try await keep(3, 1_999, at: 6) == 1)
      #expect(try await Self.kept(world, hashes) == [0, 3])
      #expect(try await keep(4, 3_000, at: 7) > 0)
      #expect(try await Self.kept(world, hashes) == [4])
      try await Self.expectCount(world)
    }
  }

  @Test("Records that are saved, claimed and swept at once leave the count of their bytes true (OF-03)")
  func concurrent() async throws {
    try await OnboardingWorld.with { world in
      let hashes = Self.hashes(6) + (0..<6).map { SHA256.digest(Array("other \($0)".utf8)) }
      let most = AnonymousRecordStore.parts * 3_000
      try await world.parley.withDatabase { database in
        let store = AnonymousRecordStore(database)
        let user = UUID.v7()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for turn in 0..<60 {
            let (hash, size) = (hashes[turn * 7 % hashes.count], 600 + turn * 37 % 900)
            group.addTask {
              switch turn % 4 {
              case 0:
                _ = try await database.transaction { transaction in
                  try await SubmissionStore(database).lock(user, in: transaction)
                  return try await store.take(under: hash, at: Instant(seconds: 1_900_000_000), in: transaction)
                }
              case 1: _ = try await store.sweep(at: Instant(seconds: 2_000_000_000 + Int64(turn)))
              default:
                _ = try await store.keep(
                  Self.record(counted: size), under: hash, until: Instant(seconds: 2_000_000_000 + Int64(turn)), most: most)
              }
            }
          }
          try await group.waitForAll()
        }
        #expect(try await store.bytes() <= Int64(most))
        _ = try await store.sweep(at: Instant(seconds: 2_100_000_000))
        #expect(try await store.bytes() == 0)
      }
      try await Self.expectCount(world)
    }
  }

  @Test("A record is taken at its largest, one byte more is refused, and newer ones crowd it out of a full service (OF-03)")
  func service() async throws {
    // Of each sixteenth: two of the largest, less what they take beside their bytes.
    let settings = ["ANONYMOUS_MAX_BYTES": "\(2 << 20)", "ADMIN_LISTEN": "127.0.0.1:0"]
    try await OnboardingWorld.with(settings) { world in
      var keys: [String] = []
      var number = 0
      while keys.count < 2 {
        let key = String(repeating: "k", count: 32) + "\(number)"
        number += 1
        if SHA256.digest(Array(key.utf8))[0] & 15 == 3 { keys.append(key) }
      }
      func state(_ bytes: Int) throws -> OnboardingState {
        var state = OnboardingState(userName: "x")
        let base = try state.jsonString().utf8.count
        state.userName = String(repeating: "x", count: bytes - base + 1)
        return state
      }
      let largest = try state(64 << 10)
      #expect(try largest.jsonString().utf8.count == 64 << 10)
      _ = try await world.client.saveAnonymousProgress(.init(progressKey: keys[0], state: largest))
      let refusal = await #expect(throws: RPCError.self) {
        try await world.client.saveAnonymousProgress(.init(progressKey: keys[0], state: try state((64 << 10) + 1)))
      }
      #expect(refusal?.code == .invalidArgument && refusal?.reason == "INVALID_ARGUMENT", "\(refusal as Any)")
      #expect(try await world.client.getAnonymousProgress(.init(progressKey: keys[0])).state == largest)
      world.parley.clock.advance(by: .seconds(1))
      _ = try await world.client.saveAnonymousProgress(.init(progressKey: keys[1], state: largest))
      let gone = await #expect(throws: RPCError.self) {
        try await world.client.getAnonymousProgress(.init(progressKey: keys[0]))
      }
      #expect(gone?.code == .notFound)
      #expect(try await world.client.getAnonymousProgress(.init(progressKey: keys[1])).state == largest)
      #expect(try await world.metric("parley_onboarding_anonymous_removed_total") == 1)
    }
  }
}
