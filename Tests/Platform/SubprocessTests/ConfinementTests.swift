import EventLoop
import Foundation
import Glibc
import Subprocess
import TestSupport
import Testing

@Suite("What a limited process may not do") struct ConfinementTests {
  /// Runs Python that attempts things, each `name: work`, and returns what became of each: `done` or the name of the error.
  private static func attempts(_ attempts: [(name: String, work: String)]) async throws -> [String: String] {
    let code = """
      import ctypes, errno, os, platform, resource, signal, socket, sys, threading
      libc = ctypes.CDLL(None, use_errno=True)
      arm = platform.machine() == 'aarch64'
      parent, me = os.getppid(), os.getpid()
      kept = []
      def path(text):
        kept.append(ctypes.create_string_buffer(text.encode()))
        return ctypes.addressof(kept[-1])
      def call(number, *values):
        if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(value) for value in values]) < 0:
          raise OSError(ctypes.get_errno(), '')
      def attempt(name, work):
        try: work(); print(name, 'done')
        except OSError as error: print(name, errno.errorcode[error.errno])
      \(attempts.map { "attempt('\($0.name)', lambda: \($0.work))" }.joined(separator: "\n"))
      """
    var process = LimitedProcess("/usr/bin/python3", ["-I", "-S", "-c", code])
    process.limits.time = Duration.seconds(240).withPatience
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    let (ending, output) = try await process.run(input: [], on: pool, into: [UInt8]()) { output, chunk in
      output.append(contentsOf: chunk)
      return true
    }
    #expect(ending == .exited(0))
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ") }
    return Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), String($0[1])) })
  }

  @Test("It cannot signal another process by any call, nor have one signalled; it may end itself")
  func signals() async throws {
    let outcomes = try await Self.attempts([
      ("kill", "os.kill(parent, 0)"), ("tkill", "call(130 if arm else 200, parent, 0)"),
      ("tgkill", "call(131 if arm else 234, parent, parent, 0)"),
      ("rt_sigqueueinfo", "call(138 if arm else 129, parent, 0, 0)"),
      ("rt_tgsigqueueinfo", "call(240 if arm else 297, parent, parent, 0, 0)"),
      ("pidfd_send_signal", "call(424, os.pidfd_open(parent), 0, 0, 0)"),
      ("pidfd_getfd", "call(438, os.pidfd_open(parent), 0, 0)"),
      ("setown", "call(25 if arm else 72, 1, 8, parent)"), ("setown_ex", "call(25 if arm else 72, 1, 15, 0)"),
      ("setsig", "call(25 if arm else 72, 1, 10, 9)"),
    ])
    #expect(outcomes.count == 10 && outcomes.allSatisfy { $0.value == "EPERM" }, "\(outcomes)")
    let own = try await Self.attempts([
      ("tgkill", "call(131 if arm else 234, me, threading.get_native_id(), 0)"), ("getfl", "call(25 if arm else 72, 1, 3, 0)"),
    ])
    #expect(own == ["tgkill": "done", "getfl": "done"])
  }

  @Test("It cannot begin another process, which would have limits of its own; threads share its own")
  func processes() async throws {
    let outcomes = try await Self.attempts([
      // 17 is SIGCHLD.
      ("fork", "os.fork()"), ("clone", "call(220 if arm else 56, 17, 0, 0, 0, 0)"),
      ("fork_call", "os.fork() if arm else call(57)"), ("vfork_call", "os.fork() if arm else call(58)"),
    ])
    #expect(outcomes.count == 4 && outcomes.allSatisfy { $0.value == "EPERM" }, "\(outcomes)")
    #expect(try await Self.attempts([("clone3", "call(435, 0, 0)")]) == ["clone3": "ENOSYS"])
    let threads = try await Self.attempts([("thread", "(lambda t: (t.start(), t.join()))(threading.Thread(target=lambda: None))")]
    )
    #expect(threads == ["thread": "done"])
  }

  @Test("It cannot limit another process, or itself anew")
  func limits() async throws {
    let outcomes = try await Self.attempts([
      ("prlimit", "resource.prlimit(parent, resource.RLIMIT_CPU)"),
      ("prlimit_set", "resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1))"),
      ("setrlimit", "call(164 if arm else 160, 0, 0)"),
      ("own", "resource.prlimit(0, resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))"),
    ])
    #expect(outcomes.count == 4 && outcomes.allSatisfy { $0.value == "EPERM" }, "\(outcomes)")
    #expect(try await Self.attempts([("read", "resource.prlimit(0, resource.RLIMIT_CPU)")]) == ["read": "done"])
  }

  @Test("It cannot make, open for writing, change, rename or remove a file that its account may; it may read one")
  func files() async throws {
    let folder = try ScratchFolder()
    let (file, new) = (folder.path + "/recording", folder.path + "/new")
    try "what somebody said".write(toFile: file, atomically: true, encoding: .utf8)
    let flags = ["O_WRONLY", "O_RDWR", "O_RDONLY | os.O_TRUNC", "O_WRONLY | os.O_APPEND", "O_RDONLY | os.O_CREAT"]
    let opens: [(name: String, work: String)] = flags.enumerated().flatMap { index, flags in
      [
        (name: "openat_\(index)", work: "os.open('\(file)', os.\(flags))"),
        (name: "open_\(index)", work: "os.open('\(file)', os.\(flags)) if arm else call(2, path('\(file)'), os.\(flags))"),
      ]
    }
    let others: [(name: String, work: String)] = [
      ("create", "os.open('\(new)', os.O_CREAT | os.O_WRONLY)"),
      ("unnamed", "os.open('\(folder.path)', os.O_TMPFILE | os.O_RDWR)"),
      ("truncate", "os.truncate('\(file)', 0)"), ("unlink", "os.unlink('\(file)')"), ("rmdir", "os.rmdir('\(folder.path)')"),
      ("unlinkat", "call(35 if arm else 263, -100, path('\(file)'), 0)"),
      ("rename", "os.rename('\(file)', '\(new)')"),
      ("renameat", "call(38 if arm else 264, -100, path('\(file)'), -100, path('\(new)'))"),
      ("renameat2", "call(276 if arm else 316, -100, path('\(file)'), -100, path('\(new)'), 0)"),
      ("link", "os.link('\(file)', '\(new)')"),
      ("linkat", "call(37 if arm else 265, -100, path('\(file)'), -100, path('\(new)'), 0)"),
      ("symlink", "os.symlink('\(file)', '\(new)')"),
      ("symlinkat", "call(36 if arm else 266, path('\(file)'), -100, path('\(new)'))"),
      ("mkdir", "os.mkdir('\(new)')"), ("mkdirat", "call(34 if arm else 258, -100, path('\(new)'), 511)"),
      ("mkfifo", "os.mkfifo('\(new)')"), ("chmod", "os.chmod('\(file)', 0)"),
      ("fchmodat", "call(53 if arm else 268, -100, path('\(file)'), 0)"),
      ("fchmodat2", "call(452, -100, path('\(file)'), 0, 0)"),
      ("fchmod", "os.fchmod(os.open('\(file)', os.O_RDONLY), 0)"), ("chown", "os.chown('\(file)', os.getuid(), os.getgid())"),
      ("fchown", "os.fchown(os.open('\(file)', os.O_RDONLY), os.getuid(), os.getgid())"),
      ("lchown", "os.lchown('\(file)', os.getuid(), os.getgid())"), ("utime", "os.utime('\(file)', (0, 0))"),
      ("setxattr", "os.setxattr('\(file)', 'user.a', b'x')"), ("removexattr", "os.removexattr('\(file)', 'user.a')"),
      ("creat", "os.open('\(new)', os.O_CREAT | os.O_WRONLY) if arm else call(85, path('\(new)'), 511)"),
    ]
    let outcomes = try await Self.attempts(opens + others)
    #expect(outcomes.count == 37 && outcomes.allSatisfy { $0.value == "EPERM" }, "\(outcomes)")
    let openat2 = try await Self.attempts([("openat2", "call(437, -100, path('\(file)'), 0, 0)")])
    #expect(openat2 == ["openat2": "ENOSYS"])
    let reading = try await Self.attempts([
      ("read", "os.open('\(file)', os.O_RDONLY)"), ("open", "os.open('\(file)', 0) if arm else call(2, path('\(file)'), 0)"),
    ])
    #expect(reading == ["read": "done", "open": "done"])
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "what somebody said")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["recording"])
  }
}
