import AuthDomain
import EventLoop
import Foundation
import Glibc
import JOSE
import JSON
import MessagesCore
import OnboardingAPI
import OnboardingStore
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("What is in memory", .serialized)
struct MemoryTests {
  /// What the kernel says of a process, in bytes: `VmRSS`, and `VmHWM`, the most that it had since that was set back.
  private static func memory(_ name: String, of process: pid_t) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
    return (try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) })) << 10
  }

  /// The bytes of recordings that a process has beside its own memory, for programs that look into them.
  private static func lookedInto(by process: pid_t) -> Int {
    let folder = "/proc/\(process)/fd"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).reduce(0) { sum, name in
      var facts = stat()
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"),
        target.hasPrefix("/memfd:parley-input"), stat("\(folder)/\(name)", &facts) == 0
      else { return sum }
      return sum + Int(facts.st_size)
    }
  }

  @Test(
    "JOB-M10: while eight recordings of the largest size come in pieces at once and go to the object store, the process never has half of them in memory"
  )
  func uploads() async throws {
    let (people, each, size) = (4, 2, 10 << 20)
    try await TestParley.with(clock: TestClock(at: Int64(time(nil)))) { parley in
      let (scratch, pool) = (try ScratchFolder(), BlockingPool(maximumThreads: 1))
      defer { pool.shutDown() }
      let variables = try await parley.environment(
        of: OnboardingAPI.OnboardingService.self,
        changes: ["LISTEN": "unix:\(scratch.path)/s", "BLOBS_DIRECTORY": scratch.path + "/blobs", "DATABASE_POOL": "8"])
      let service = OnboardingProcess(variables: variables, folder: scratch.path, loops: parley.loops)
      let process = try service.start()
      let result = await Result.of {
        // The same bytes under names of their own are other recordings to each person.
        let recordings = (0..<each).map { SpokenFiles.tone(bytes: size - 2 * $0) }
        let send: @Sendable (Int, TestUser) async throws -> UploadRecordingResponse = { number, user in
          let upload = PieceUpload(
            name: "upload-number-\(number)-of-many", bytes: recordings[number], type: "audio/wav", pieces: [512 << 10])
          return try await service.call { channel in
            try await upload.sendAsItGoes(through: ParleyAPI.OnboardingService.Client(channel), as: user)
          }
        }
        // What one costs is there already when many come.
        _ = try await send(0, try await parley.signIn("the first"))
        var users: [TestUser] = []
        for number in 0..<people { users.append(try await parley.signIn("person \(number)")) }
        let before = try Self.memory("VmRSS", of: process)
        try "5".write(toFile: "/proc/\(process)/clear_refs", atomically: false, encoding: .utf8)
        let watch = Task {
          var most = 0
          while !Task.isCancelled {
            most = max(most, Self.lookedInto(by: process))
            try? await Task.sleep(for: .milliseconds(2))  // between two looks
          }
          return most
        }
        try await withThrowingTaskGroup(of: Void.self) { uploads in
          for (user, number) in users.flatMap({ user in (0..<each).map { (user, $0) } }) {
            uploads.addTask {
              let response = try await send(number, user)
              try await service.call { channel in
                _ = try await untilNotBusy {
                  try await ParleyAPI.OnboardingService.Client(channel).saveAnswer(
                    .init(step: Int32(number * 3 + 2), answer: .init(type: "voice", value: .written(response.reference))),
                    options: OnboardingWorld.options(user))
                }
              }
            }
          }
          try await uploads.waitForAll()
        }
        watch.cancel()
        let lookedInto = await watch.value
        // The process goes by the machine's clock, and moves recordings a minute after they came.
        try await parley.withDatabase { database in
          _ = try await database.execute("update onboarding.job set due_at = now() where kind = 'onboarding.store'")
        }
        try await eventually("all are in the object store", atMost: .seconds(60)) {
          users.allSatisfy { user in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(scratch.path)/blobs/\(user.userID)")) ?? []
            return names.count { !$0.hasSuffix(".type") } == each
          }
        }
        let most = try Self.memory("VmHWM", of: process) - before
        print(
          "8 uploads of 10 MiB at once: \(most >> 20) MiB more than the \(before >> 20) MiB before, \(lookedInto >> 20) MiB beside"
        )
        #expect(
          most <= (40 << 20).withRoomForSanitizers,
          "of \(people * each * size >> 20) MiB that came, \(most >> 20) were in memory at once")
        #expect((1...2 * size).contains(lookedInto), "no more than two are looked into at once")
      }
      try await service.stop(process, SIGTERM, on: pool)
      withExtendedLifetime(scratch) {}
      try result.get()
    }
  }

  @Test("However many recordings wait for a provider that does not answer, 256 MiB are in memory for them")
  func memory() async throws {
    // Each is there three times: eight of 10 MiB, and the ninth waits.
    let (people, spoken, fit) = (3, 4, 8)
    try await OnboardingWorld.with { world in
      let path = "/openai/v1/audio/transcriptions"
      try await world.sandbox.control(.post, "hold", ["path": .string(path), "count": .number(JSONNumber(people * spoken))])
      for person in 0..<people {
        var responses: [String: OnboardingAnswer] = [:]
        for (index, step) in [2, 5, 7, 10].enumerated() {
          responses["\(step)"] = .spoken(SpokenFiles.tone(bytes: (10 << 20) - 2 * index), as: "audio/wav")
        }
        _ = try await world.client.complete(
          .init(state: .init(responses: responses), wait: .init()),
          options: OnboardingWorld.options(try await world.signIn("person \(person)")))
      }
      try await world.sandbox.awaitHeld(fit)
      // Whoever is looked into after them is done: nothing more is on its way.
      let ana = try await world.signIn("ana")
      for _ in 0..<2 {
        let heard = try await world.post(
          "/transcribe/audio", try SpokenFiles.silence(), as: ana, ["Content-Type": "audio/mp4"])
        #expect(heard.status == 200, "\(heard)")
      }
      let held = try await world.sandbox.control(.get, "hold")["waiting"]?.array?.count
      #expect(held == fit, "\(held as Any)")
      try await world.sandbox.control(.delete, "hold")
      try await eventually(atMost: .seconds(60)) {
        try await world.value("select count(*) from onboarding.recording where state = 'done'", as: Int64.self)
          == Int64(people * spoken)
      }
    }
  }
}
