import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import OnboardingAPI
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestRandom
import TestSandbox
import TestSupport
import Testing
import WellKnown

/// The service as a process that is killed by SIGKILL in the middle, and started again, in the middle of the work on a submission.
@Suite("A service that is killed", .serialized)
struct CrashTests {
  /// Where the process is killed.
  enum Point: Hashable, CustomStringConvertible {
    /// As soon as so many events have been told.
    case event(Int)
    /// While the provider works on a request (or before it does): the answer is lost.
    case call(String, number: Int, isBefore: Bool)

    var description: String {
      switch self {
      case .event(let count): "after event \(count)"
      case .call(let path, let number, let isBefore): "\(isBefore ? "before" : "after") call \(number) of \(path)"
      }
    }
  }

  /// Every boundary between two events, and both sides of every call of a provider, of a record with so many recordings.
  static func points(_ recordings: Int) -> [Point] {
    // Received, storing and transcribing with their beginnings, extracting, cloning, done.
    let events = (1...(1 + 2 * (recordings + 1) + 2 + 1)).map { Point.event($0) }
    let calls = [
      ("/openai/v1/audio/transcriptions", recordings), ("/openai/v1/chat/completions", 1), ("/elevenlabs/v1/voices/add", 1),
      ("/elevenlabs/v2/voices", 1),
    ]
    return events
      + calls.flatMap { path, count in
        (1...count).flatMap { number in [true, false].map { Point.call(path, number: number, isBefore: $0) } }
      }
  }

  @Test(
    "JOB-M3, O-26, O-34: killed at any point, every answer is there, nothing is stored or paid twice, and the course has no gap")
  func killed() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = environment["PARLEY_CRASH_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...UInt64(UInt32.max))
    var random = SeededRandom(seed)
    let isWhole = environment["PARLEY_CRASH_POINTS"] == "all"
    let recordings = isWhole ? 15 : 5
    let all = Self.points(recordings).shuffled(using: &random)
    let points = isWhole ? all : Array(all.prefix(12))
    let log = "crash matrix: seed \(seed), \(points.count) of \(all.count) points"
    try await SandboxProcess.run { sandbox in
      try await CrashGround.with(sandbox) { ground in
        let undisturbed = try await ground.outcome(of: nil, recordings: recordings)
        #expect(undisturbed.hasVoice && undisturbed.paid.values.allSatisfy { $0 > 0 }, "every provider is called: \(undisturbed)")
        for point in points {
          do {
            let outcome = try await ground.outcome(of: point, recordings: recordings)
            #expect(outcome == undisturbed, "\(point), seed \(seed)")
          } catch { Issue.record(error, "\(point), seed \(seed)") }
        }
        print("\(log), \(ground.kills) kills")
      }
    }
  }
}
