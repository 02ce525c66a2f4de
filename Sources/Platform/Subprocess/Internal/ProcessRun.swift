internal import CShims
internal import EventLoop
internal import Glibc

/// One run of a program, on a thread that may block.
struct ProcessRun {
  private let command: LimitedProcess
  private let cancellation: Cancellation

  init(_ command: LimitedProcess, _ cancellation: Cancellation) {
    self.command = command
    self.cancellation = cancellation
  }

  func run<Result>(
    input: ProcessInput, into result: Result, _ read: (inout Result, UnsafeRawBufferPointer) -> Bool
  ) throws(SubprocessError) -> (ending: LimitedProcess.Ending, result: Result) {
    // Each run has a place of its own in it.
    let memory = parley_open_memory(input.descriptor)
    guard memory >= 0 else { throw failure(.startFailed, errno) }
    defer { close(memory) }
    var (reading, writing): (Int32, Int32) = (-1, -1)
    let pipeError = parley_make_pipe(&reading, &writing)
    guard pipeError == 0 else { throw failure(.startFailed, pipeError) }
    defer { close(reading) }
    let deadline = MonotonicInstant.now().advanced(by: command.limits.time)
    let started = start(input: memory, output: writing)
    close(writing)
    let process = try started.get()
    let watch = parley_watch_process(process)
    defer { if watch >= 0 { close(watch) } }

    var result = result
    let stopped = follow(process, watch, reading, until: deadline, into: &result, read)
    var microseconds: UInt64 = 0
    let status = parley_end_process(process, &microseconds)
    if let stopped { throw SubprocessError(stopped, command.program) }
    return (ending(status, cpuTime: .microseconds(Int64(microseconds))), result)
  }

  /// How it ended, by what waitpid told.
  private func ending(_ status: Int32, cpuTime: Duration) -> LimitedProcess.Ending {
    // A program may have a handler for the signal that tells it that its CPU time is up: then it ends with a status of its own, or is
    // killed a second later as one that the machine has no memory for is. The limit is counted by ticks: on a machine that is not alone
    // it was seen to be up after nine tenths of the time that is told here.
    if status != 0, cpuTime >= Duration.seconds(Int64(command.limits.cpuSeconds)) * 3 / 4 { return .signalled(SIGXCPU) }
    return status & 0x7f == 0 ? .exited((status >> 8) & 0xff) : .signalled(status & 0x7f)
  }

  private func start(input: Int32, output: Int32) -> Swift.Result<Int32, SubprocessError> {
    let copies = ([command.program] + command.arguments).map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let limits = command.limits
    var allowed = parley_process_limits(
      memory: limits.memoryBytes, file_size: limits.fileBytes, cpu_seconds: limits.cpuSeconds, descriptors: limits.descriptors)
    var process: Int32 = 0
    let error = parley_spawn_limited(command.program, copies + [nil], input, output, &allowed, &process)
    guard error == 0 else {
      return .failure(failure([ENOENT, EACCES, ENOTDIR, ENOEXEC].contains(error) ? .programMissing : .startFailed, error))
    }
    return .success(process)
  }

  /// Reads until the program has ended. Answers why it has to be ended before, or nil.
  private func follow<Result>(
    _ process: Int32, _ watch: Int32, _ output: Int32, until deadline: MonotonicInstant, into result: inout Result,
    _ read: (inout Result, UnsafeRawBufferPointer) -> Bool
  ) -> SubprocessError.Code? {
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
    defer { chunk.deallocate() }
    var isOpen = true
    while true {
      let left = deadline.duration(since: .now())
      guard left > .zero else { return .timedOut }
      // A kernel without descriptors for processes is asked a hundred times a second.
      let pause = watch >= 0 ? Duration.seconds(60) : .milliseconds(10)
      let milliseconds = Int32(min(left, pause) / .milliseconds(1)) + 1
      var polled = [
        pollfd(fd: isOpen ? output : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: watch, events: Int16(POLLIN), revents: 0),
        pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&polled, nfds_t(polled.count), milliseconds) >= 0 || errno == EINTR else { return .timedOut }
      if polled[2].revents != 0 { return .cancelled }
      // Asked before the last of the output is read, so that nothing is written after it.
      let hasEnded = parley_process_has_ended(process) != 0
      while isOpen {
        let count = Glibc.read(output, chunk.baseAddress, chunk.count)
        if count > 0 {
          guard read(&result, UnsafeRawBufferPointer(rebasing: chunk[..<count])) else { return .outputRefused }
          // Whoever writes without end is stopped by the clock all the same.
          guard MonotonicInstant.now() < deadline else { return .timedOut }
        } else if count < 0, errno == EINTR {
          continue
        } else {
          if count == 0 || errno != EAGAIN { isOpen = false }
          break
        }
      }
      if hasEnded { return nil }
    }
  }

  private func failure(_ code: SubprocessError.Code, _ error: Int32) -> SubprocessError {
    SubprocessError(code, "\(command.program): \(String(cString: strerror(error)))")
  }
}
