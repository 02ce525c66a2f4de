import EventLoop
import Glibc
import TestSupport
import Testing

@Suite("Watched descriptors")
struct DescriptorTests {
  private func onLoop(_ body: @escaping @Sendable (EventLoop) async throws -> Void) async throws {
    let group = try EventLoopGroup(count: 1, name: "watch")
    let loop = group.loops[0]
    let result: Result<Void, any Error>
    do { result = .success(try await loop.perform { try await body(loop) }) } catch { result = .failure(error) }
    group.shutDown()
    try result.get()
  }

  @Test("A watch that is cancelled in its own callback hears nothing more")
  func cancelInside() async throws {
    try await onLoop { loop in
      let pipe = try Pipe()
      let reader = PipeReader(pipe)
      reader.onReady = { $0.watch?.cancel() }
      reader.watch = try loop.watch(pipe.reading, for: .readable, reader)
      pipe.write(100)
      try await reader.seen.reaches(64)
      try await loop.sleep(for: .milliseconds(5))
      #expect(reader.seen.value == 64)
      pipe.close()
    }
  }

  @Test("A watch that is cancelled in another's callback of the same tick hears nothing of that tick")
  func cancelOther() async throws {
    try await onLoop { loop in
      let readers = try (0..<10).map { _ in PipeReader(try Pipe()) }
      for reader in readers {
        reader.watch = try loop.watch(reader.pipe.reading, for: .readable, reader)
        reader.onReady = { me in for other in readers where other !== me { other.watch?.cancel() } }
      }
      for reader in readers { reader.pipe.write(1) }
      try await loop.sleep(for: .milliseconds(5))
      #expect(readers.map(\.seen.value).reduce(0, +) == 1)
      for reader in readers {
        reader.onReady = { _ in }
        reader.watch?.cancel()
        reader.pipe.close()
      }
    }
  }

  @Test("A new watch may be added in a callback, also for the descriptor just given up")
  func addInside() async throws {
    try await onLoop { loop in
      let pipe = try Pipe()
      let first = PipeReader(pipe)
      let second = PipeReader(pipe)
      first.onReady = { me in
        me.watch?.cancel()
        second.watch = try? loop.watch(pipe.reading, for: .readable, second)
      }
      first.watch = try loop.watch(pipe.reading, for: .readable, first)
      pipe.write(100)
      try await second.seen.reaches(36)
      #expect(first.seen.value == 64 && second.seen.value == 36)
      second.watch?.cancel()
      pipe.close()
    }
  }

  // As libpq does when a server hangs up, while a child process has copies of all descriptors.
  @Test(
    "A descriptor that was closed before its watch was cancelled, and of which a copy is open, tells nobody, also where its number is another's",
    arguments: [true, false])
  func closedBeforeCancelled(isCancelledFirst: Bool) async throws {
    try await onLoop { loop in
      let (pipe, other) = (try Pipe(), try Pipe())
      let (first, second) = (PipeReader(pipe), PipeReader(other))
      // Numbers that nobody else in this process comes to.
      let number = fcntl(pipe.reading, F_DUPFD_CLOEXEC, 900)
      first.watch = try loop.watch(number, for: .readable, first)
      Glibc.close(number)
      if isCancelledFirst { first.watch?.cancel() }
      try #require(fcntl(other.reading, F_DUPFD_CLOEXEC, 900) == number)
      second.watch = try loop.watch(number, for: .readable, second)
      if !isCancelledFirst { first.watch?.cancel() }
      first.watch = nil
      pipe.write(64)
      try await loop.sleep(for: .milliseconds(5))
      #expect(first.seen.value == 0 && second.seen.value == 0)
      other.write(64)
      try await second.seen.reaches(64)
      #expect(first.seen.value == 0)
      second.watch?.cancel()
      Glibc.close(number)
      pipe.close()
      other.close()
    }
  }

  @Test("Interest can be taken away and given back, in the callback too")
  func interest() async throws {
    try await onLoop { loop in
      let pipe = try Pipe()
      let reader = PipeReader(pipe)
      reader.onReady = { $0.watch?.setInterest([]) }
      reader.watch = try loop.watch(pipe.reading, for: .readable, reader)
      pipe.write(200)
      try await reader.seen.reaches(64)
      try await loop.sleep(for: .milliseconds(5))
      #expect(reader.seen.value == 64)
      reader.watch?.setInterest(.readable)
      try await reader.seen.reaches(128)
      reader.onReady = { _ in }
      reader.watch?.setInterest(.readable)
      try await reader.seen.reaches(200)
      reader.watch?.cancel()
      pipe.close()
    }
  }

  @Test("What cannot be watched is refused: a file, a closed descriptor, the same one twice")
  func refused() async throws {
    try await onLoop { loop in
      let pipe = try Pipe()
      let reader = PipeReader(pipe)
      let file = open("/proc/self/status", O_RDONLY)
      let regular = open("/etc/passwd", O_RDONLY)
      #expect(throws: EventLoopError.self) { try loop.watch(regular, for: .readable, reader) }
      #expect(throws: EventLoopError.self) { try loop.watch(-1, for: .readable, reader) }
      let watch = try loop.watch(pipe.reading, for: .readable, reader)
      #expect(throws: EventLoopError.self) { try loop.watch(pipe.reading, for: .readable, reader) }
      watch.cancel()
      watch.cancel()
      close(file)
      close(regular)
      pipe.close()
    }
  }
}
