import EventLoop
import Glibc
import Subprocess
import TestSupport
import Testing

@Suite("Limited processes") struct LimitedProcessTests {
  /// Runs a program and returns how it ended with what it wrote.
  private static func run(
    _ program: String, _ arguments: [String], input: [UInt8] = [], atMost: Int = 32 << 20,
    _ change: (inout ProcessLimits) -> Void = { _ in }
  ) async throws(SubprocessError) -> (ending: LimitedProcess.Ending, output: String) {
    var process = LimitedProcess(program, arguments)
    process.limits.time = Duration.seconds(240).withPatience
    change(&process.limits)
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    let (ending, output) = try await process.run(input: input, on: pool, into: [UInt8]()) { output, chunk in
      output.append(contentsOf: chunk)
      return output.count <= atMost
    }
    return (ending, String(decoding: output, as: UTF8.self))
  }

  private static func python(
    _ code: String, _ change: (inout ProcessLimits) -> Void = { _ in }
  ) async throws(SubprocessError) -> (ending: LimitedProcess.Ending, output: String) {
    try await run("/usr/bin/python3", ["-I", "-S", "-c", code], change)
  }

  @Test("It reads its input, can seek in it, and what it writes comes back whole")
  func echo() async throws {
    let input = (0..<(10 << 20)).map { UInt8(truncatingIfNeeded: $0 % 251 & 0x7f) }
    let (ending, output) = try await Self.run("/bin/cat", [], input: input)
    #expect(ending == .exited(0) && output.utf8.elementsEqual(input))
    let end = try await Self.run("/usr/bin/tail", ["-c", "3", "/proc/self/fd/0"], input: Array("hello".utf8))
    #expect(end.output == "llo")
    #expect(try await Self.run("/bin/sh", ["-c", "exit 7"]).ending == .exited(7))
    #expect(try await Self.run("/bin/cat", []).output == "")
  }

  @Test("What came piece by piece is one input, which several programs at once read, each from its beginning")
  func shared() async throws {
    var writer = ProcessInputWriter()
    let input = (0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 % 251 & 0x7f) }
    for start in stride(from: 0, to: input.count, by: 100_000) {
      writer.append(Array(input[start..<min(start + 100_000, input.count)]))
    }
    #expect(writer.count == input.count)
    let shared = try writer.sealed()
    let pool = BlockingPool(maximumThreads: 3)
    defer { pool.shutDown() }
    try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<6 {
        group.addTask {
          // By its standard input itself, whose place is in the descriptor.
          try await LimitedProcess("/bin/cat", []).run(input: shared, on: pool, into: [UInt8]()) { output, chunk in
            output.append(contentsOf: chunk)
            return true
          }.result
        }
      }
      for try await output in group { #expect(output == input) }
    }
    let refused = try await LimitedProcess("/usr/bin/python3", ["-I", "-S", "-c", "import os; os.write(0, b'x')"])
      .run(input: shared, on: pool, into: 0) { _, _ in true }
    #expect(refused.ending != .exited(0), "nobody changes what others read")
  }

  @Test("It has no environment, nothing open but its three descriptors, and its input cannot be changed")
  func bare() async throws {
    #expect(try await Self.run("/usr/bin/env", []).output == "")
    // The fourth one is the folder that is being listed.
    #expect(try await Self.run("/bin/ls", ["/proc/self/fd"]).output == "0\n1\n2\n3\n")
    #expect(try await Self.run("/bin/pwd", []).output == "/\n")
    let write = "import os\ntry: os.write(os.open('/proc/self/fd/0', os.O_RDWR), b'x')\nexcept PermissionError: print('sealed')"
    #expect(try await Self.python(write) { $0.fileBytes = 1 << 20 }.output == "sealed\n")
  }

  @Test("It has no network, cannot signal others, and cannot leave its group")
  func refused() async throws {
    let code = """
      import os, socket
      def attempt(name, work):
        try: work(); print(name, 'done')
        except PermissionError: print(name, 'refused')
      attempt('inet', lambda: socket.socket())
      attempt('unix', lambda: socket.socketpair())
      attempt('kill', lambda: os.kill(os.getppid(), 0))
      attempt('setsid', lambda: os.setsid())
      attempt('setpgid', lambda: os.setpgid(0, 0))
      """
    let (ending, output) = try await Self.python(code)
    #expect(ending == .exited(0))
    #expect(output == "inet refused\nunix refused\nkill refused\nsetsid refused\nsetpgid refused\n")
  }

  @Test("Its time by the clock ends it, whether it sleeps or writes without end, and nothing of it is left")
  func time() async throws {
    for (program, arguments) in [("/bin/sleep", ["1000"]), ("/usr/bin/yes", [])] {
      let error = await #expect(throws: SubprocessError.self) {
        try await Self.run(program, arguments, atMost: .max) { $0.time = .milliseconds(300) }
      }
      #expect(error?.code == .timedOut)
    }
    let mine = try await Self.run("/bin/sh", ["-c", "echo $$"]).output
    #expect(Self.isGone(try #require(pid_t(mine.dropLast()))))
  }

  /// Whether a process is no more, or waits only for whoever should have asked how it ended.
  private static func isGone(_ process: pid_t) -> Bool {
    let end = MonotonicInstant.now().advanced(by: Duration.seconds(10).withPatience)
    while MonotonicInstant.now() < end {
      let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return true }
      var text = [UInt8](repeating: 0, count: 512)
      let count = read(descriptor, &text, text.count)
      close(descriptor)
      if count <= 0 || String(decoding: text[..<count], as: UTF8.self).contains(") Z ") { return true }
      sched_yield()
    }
    return false
  }

  @Test("Its CPU time, its memory and its files are limited")
  func limits() async throws {
    let busy = try await Self.run("/bin/sh", ["-c", "while :; do :; done"]) { $0.cpuSeconds = 1 }
    #expect(busy.ending == .signalled(SIGXCPU))
    // Who handles the signal, or is deaf to it, has used up its time all the same.
    for answer in ["lambda *_: os._exit(3)", "signal.SIG_IGN"] {
      let handled = "import os, signal\nsignal.signal(signal.SIGXCPU, \(answer))\nwhile True: pass"
      #expect(try await Self.python(handled) { $0.cpuSeconds = 1 }.ending == .signalled(SIGXCPU), "\(answer)")
    }
    #expect(try await Self.python("import os, signal\nos.abort()").ending == .signalled(SIGABRT), "it may end itself")
    let big = "try: bytearray(1 << 30); print('had')\nexcept MemoryError: print('refused')"
    #expect(try await Self.python(big) { $0.memoryBytes = 256 << 20 }.output == "refused\n")
    #expect(try await Self.python(big) { $0.memoryBytes = 4 << 30 }.output == "had\n")
    let file = """
      import os, signal
      signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
      d = os.memfd_create('f')
      try: os.write(d, b'x'); print('written')
      except OSError: print('refused')
      """
    #expect(try await Self.python(file).output == "refused\n")
    #expect(try await Self.python(file) { $0.fileBytes = 1 }.output == "written\n")
    let open = "import os\nn = 0\ntry:\n  while True: os.dup(0); n += 1\nexcept OSError: print(n)"
    #expect(try await Self.python(open) { $0.descriptors = 16 }.output == "13\n")
  }

  @Test("To begin it write-protects no page of this process, however large that is (PF-12)")
  func pages() async throws {
    let count = 64 << 20
    let memory = try #require(mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    defer { munmap(memory, count) }
    // Pages of 4 KiB each, so that each would have a fault of its own.
    madvise(memory, count, 15)
    /// Writes to every page, and counts the faults of this thread.
    func faults() -> Int {
      var (before, after) = (rusage(), rusage())
      // RUSAGE_THREAD, which is a macro.
      getrusage(__rusage_who_t(1), &before)
      for place in stride(from: 0, to: count, by: 4_096) { memory.storeBytes(of: 1, toByteOffset: place, as: UInt8.self) }
      getrusage(__rusage_who_t(1), &after)
      return after.ru_minflt - before.ru_minflt
    }
    _ = faults()
    #expect(try await Self.run("/bin/cat", []).ending == .exited(0))
    // A fork would have taken all 16,384 of them.
    let taken = faults()
    #expect(taken < 1_000, "\(taken) page faults")
  }

  @Test("What it is told is there for this process as well, and for nobody to change")
  func input() throws {
    var writer = ProcessInputWriter()
    writer.append([1, 2, 3])
    writer.append([4])
    #expect(try writer.sealed().withBytes { Array($0) } == [1, 2, 3, 4])
    #expect(try ProcessInputWriter().sealed().withBytes { $0.count } == nil)
  }

  @Test("A reader that wants no more ends it")
  func output() async throws {
    let error = await #expect(throws: SubprocessError.self) { try await Self.run("/usr/bin/yes", [], atMost: 1000) }
    #expect(error?.code == .outputRefused)
  }

  @Test("A cancelled task ends it")
  func cancelled() async throws {
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    let begun = Signal()
    let task = Task {
      try await LimitedProcess("/bin/sh", ["-c", "echo begun; exec sleep 1000"]).run(input: [], on: pool, into: 0) { _, _ in
        begun.fire()
        return true
      }
    }
    try await begun.wait()
    task.cancel()
    let error = await #expect(throws: SubprocessError.self) { _ = try await task.value }
    #expect(error?.code == .cancelled)
  }

  @Test(
    "A program that is not there, or is none, is missing",
    arguments: ["/nowhere/program", "/etc/hostname", "/etc/hostname/x", "/"])
  func missing(_ program: String) async throws {
    let error = await #expect(throws: SubprocessError.self) { try await Self.run(program, []) }
    #expect(error?.code == .programMissing)
  }
}
