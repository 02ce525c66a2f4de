import EventLoop
import Glibc
import JOSE
import JSON
import MessagesCore
import OnboardingAPI
import ParleyAPI
import RPC
import RPCClient
import TestParley
import TestSupport
import WellKnown

/// What `onboarding_upload_mib` and `onboarding_complete_x` measure: how much memory the service takes above what it takes when idle,
/// while many people stream recordings, and while somebody sends 64 MiB at once. The service is a process of its own, its peak the
/// kernel's count of it; it has no providers, so that nothing else goes on.
@main struct BenchOnboarding {
  private static let uploads = 20
  private static let recording = 10 << 20
  private static let message = 64 << 20

  static func main() async throws {
    var options: [String: String] = [:]
    var arguments = CommandLine.arguments.dropFirst()
    while let name = arguments.popFirst(), let value = arguments.popFirst() { options[name] = value }
    guard let binary = options["--service"], getenv("PARLEY_TEST_DATABASE_URL") != nil else {
      fatalError("usage: --service parley-onboarding, and PARLEY_TEST_DATABASE_URL in the environment")
    }
    try await TestParley.with(clock: TestClock(at: Int64(time(nil)))) { parley in
      let upload = try await measured(binary, parley, uploads: uploads) { try await Self.upload(parley, $0, $1) }
      let grpc = try await measured(binary, parley, uploads: 1) { try await Self.complete(parley, $0, $1) }
      let three = try await measured(binary, parley, uploads: 1) { try await Self.completeThrice(parley, $0, $1) }
      let rest = try await measured(binary, parley, uploads: 1) { try await Self.post(parley, $0, $1) }
      func times(_ bytes: Int) -> Double { Double(bytes) / Double(message) }
      print(
        """
        {"upload_mib": \(Double(upload) / Double(1 << 20)), "complete_grpc_x": \(times(grpc)), "complete_rest_x": \(times(rest)), \
        "complete_three_x": \(times(three))}
        """)
    }
  }

  // MARK: Loads

  private static func options(_ user: TestUser) -> CallOptions {
    CallOptions(metadata: ["authorization": "Bearer \(user.accessToken)"], deadline: .after(.seconds(300)))
  }

  /// A recording as far as the service looks into it before it is kept: an MP4 file's beginning, and noise.
  private static func audio(_ bytes: Int, _ seed: UInt64) -> [UInt8] {
    let beginning: [UInt8] = [0, 0, 0, 24] + Array("ftypM4A ".utf8) + [0, 0, 0, 0] + Array("M4A mp42".utf8)
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    let noise = (beginning.count..<bytes).map { _ in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state >> 32)
    }
    return beginning + noise
  }

  private static func upload(_ parley: TestParley, _ users: [TestUser], _ address: SocketAddress) async throws {
    // What the client library sends at once.
    let pieces = 256 << 10
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for (number, user) in users.enumerated() {
        let bytes = audio(recording, UInt64(number + 1))
        let head = RecordingHead(
          uploadID: "bench-upload-\(1_000 + number)", contentType: "audio/mp4", sha256: .init(SHA256.digest(bytes)),
          size: Int64(bytes.count))
        tasks.addTask {
          let channel = ClientChannel(to: .host("127.0.0.1", port: address.port ?? 0), on: parley.loops)
          let response = await Result.of {
            try await ParleyAPI.OnboardingService.Client(channel).uploadRecording(options: options(user)) { writer in
              var start = 0
              while start < bytes.count {
                let end = min(start + pieces, bytes.count)
                try await writer.write(.init(head: start == 0 ? head : nil, data: .init(bytes[start..<end])))
                start = end
              }
            }
          }
          await channel.close()
          guard try response.get().size == Int64(bytes.count) else { throw TimedOut("a recording of the right size") }
        }
      }
      try await tasks.waitForAll()
    }
  }

  /// 64 MiB of answers: as many recordings as fit, and text.
  private static func request(_ seed: UInt64) -> CompleteRequest {
    var responses: [String: OnboardingAnswer] = [:]
    var room = message - 4_096
    var step = 1
    while room > 100_000 {
      // Four characters for three bytes, and what is around them.
      let bytes = min(recording, (room - 1_000) / 4 * 3)
      let text = "data:audio/m4a;base64," + Base64.encode(audio(bytes, seed &+ UInt64(step)))
      responses["step_\(step)"] = .init(type: "voice", value: .init(kind: .stringValue(text)))
      room -= text.utf8.count + 100
      step += 1
    }
    return CompleteRequest(state: .init(responses: responses), wait: .init())
  }

  private static func complete(_ parley: TestParley, _ users: [TestUser], _ address: SocketAddress) async throws {
    try await complete(1, parley, users, address)
  }

  /// One more than may be there at once.
  private static func completeThrice(_ parley: TestParley, _ users: [TestUser], _ address: SocketAddress) async throws {
    try await complete(3, parley, users, address)
  }

  private static func complete(
    _ count: Int, _ parley: TestParley, _ users: [TestUser], _ address: SocketAddress
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for number in 0..<count {
        let user = number == 0 ? users[0] : try await person("another \(number)", parley)
        let request = request(UInt64(number) << 32)
        tasks.addTask {
          let channel = ClientChannel(to: .host("127.0.0.1", port: address.port ?? 0), on: parley.loops)
          let response = await Result.of {
            try await ParleyAPI.OnboardingService.Client(channel).complete(request, options: options(user))
          }
          await channel.close()
          _ = try response.get()
        }
      }
      try await tasks.waitForAll()
    }
  }

  private static func post(_ parley: TestParley, _ users: [TestUser], _ address: SocketAddress) async throws {
    let scratch = try ScratchFolder()
    try write(try request(7).jsonBytes(), to: scratch.path + "/body")
    // It fails on a status beyond 299.
    try ChildProcess.run(
      [
        "curl", "-sSf", "--max-time", "300", "--http2-prior-knowledge", "-o", scratch.path + "/answer", "--data-binary",
        "@\(scratch.path)/body", "-H", "Content-Type: application/json", "-H", "Authorization: Bearer \(users[0].accessToken)",
        "http://127.0.0.1:\(address.port ?? 0)/onboarding/v3/complete",
      ], output: scratch.path + "/log")
  }

  // MARK: The service

  private static func person(_ name: String, _ parley: TestParley) async throws -> TestUser {
    let user = try await parley.signIn(name)
    parley.subscribe(user)
    return user
  }

  /// The bytes that a fresh process takes at most during a load, beyond what it had before.
  private static func measured(
    _ binary: String, _ parley: TestParley, uploads count: Int,
    _ load: ([TestUser], SocketAddress) async throws -> Void
  ) async throws -> Int {
    let scratch = try ScratchFolder()
    let portFile = scratch.path + "/port"
    let environment = try await parley.environment(
      of: OnboardingAPI.OnboardingService.self,
      changes: [
        "BLOBS_DIRECTORY": scratch.path + "/blobs", "OUTBOUND_CA_FILE": parley.authorityFile, "PORT_FILE": portFile,
        "DATABASE_POOL": "8", "LOOPS": "2", "LOG_LEVEL": "warning",
      ])
    let process = try ChildProcess.start(
      ["env"] + environment.map { "PARLEY_ONBOARDING_\($0.key)=\($0.value)" } + [binary, "serve"], output: scratch.path + "/log")
    let result = await Result.of {
      var users: [TestUser] = []
      for number in 0..<count { users.append(try await person("person \(number) of \(process)", parley)) }
      let address = try await address(in: portFile)
      // What a first call of each kind brings is no load's.
      _ = try await warmed(parley, users[0], address)
      try Self.forgetPeak(of: process)
      let before = try Self.memory("VmRSS", of: process)
      try await load(users, address)
      return try Self.memory("VmHWM", of: process) - before
    }
    kill(process, SIGTERM)
    ChildProcess.wait(process)
    if case .failure = result { print(String(decoding: (try? bytes(of: scratch.path + "/log")) ?? [], as: UTF8.self)) }
    return try result.get()
  }

  private static func warmed(_ parley: TestParley, _ user: TestUser, _ address: SocketAddress) async throws {
    let channel = ClientChannel(to: .host("127.0.0.1", port: address.port ?? 0), on: parley.loops)
    let client = ParleyAPI.OnboardingService.Client(channel)
    let result = await Result.of {
      for _ in 0..<100 { _ = try await client.getProgress(options: options(user)) }
      _ = try await client.saveAnswer(
        .init(step: 1, answer: .init(type: "text", value: .init(kind: .stringValue("ready")))), options: options(user))
    }
    await channel.close()
    try result.get()
  }

  private static func address(in file: String) async throws -> SocketAddress {
    for _ in 0..<600 {
      if let bytes = try? bytes(of: file), let text = (try? JSONParser.parse(bytes))?["grpc"]?.string {
        return try SocketAddress(text)
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw TimedOut("a service that listens")
  }

  private static func write(_ bytes: [UInt8], to file: String) throws {
    let descriptor = open(file, O_WRONLY | O_CREAT, 0o600)
    defer { close(descriptor) }
    var start = 0
    while start < bytes.count {
      let count = bytes[start...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw TimedOut("\(file), which can be written") }
      start += count
    }
  }

  private static func bytes(of file: String) throws -> [UInt8] {
    let descriptor = open(file, O_RDONLY)
    guard descriptor >= 0 else { throw TimedOut("\(file), which can be read") }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = read(descriptor, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
  }

  /// A line of the kernel's account of a process, in bytes.
  private static func memory(_ name: String, of process: pid_t) throws -> Int {
    let text = String(decoding: try bytes(of: "/proc/\(process)/status"), as: UTF8.self)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name + ":") }),
      let count = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) })
    else { throw TimedOut("\(name) of a process that runs") }
    return count << 10
  }

  /// Lets the peak begin anew.
  private static func forgetPeak(of process: pid_t) throws {
    let descriptor = open("/proc/\(process)/clear_refs", O_WRONLY)
    guard descriptor >= 0, Glibc.write(descriptor, "5", 1) == 1 else { throw TimedOut("a peak that can begin anew") }
    close(descriptor)
  }
}
