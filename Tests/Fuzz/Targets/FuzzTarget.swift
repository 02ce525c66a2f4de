import TestRandom

/// One thing that is fed hostile bytes.
protocol FuzzTarget: AnyObject {
  /// Feeds one input. What breaks an invariant ends the process: see ``require(_:_:)``.
  func run(_ input: UnsafeRawBufferPointer)

  /// Changes an input into another one, in place.
  ///
  /// - Parameters:
  ///   - data: Room for `room` bytes.
  ///   - size: How many of them the input has.
  ///   - random: What to choose by; equal seeds make equal choices.
  /// - Returns: How many bytes the new input has.
  func mutate(_ data: UnsafeMutablePointer<UInt8>, size: Int, room: Int, random: inout SeededRandom) -> Int
}

extension FuzzTarget {
  /// libFuzzer's own mutations.
  func mutate(_ data: UnsafeMutablePointer<UInt8>, size: Int, room: Int, random: inout SeededRandom) -> Int {
    libFuzzerMutate(data, size, room)
  }
}

/// The targets by name.
enum FuzzTargets {
  static let byName: [String: @Sendable () -> any FuzzTarget] = [
    "http2-server": { ServerTarget() },
    "http2-client": { ClientTarget() },
    "framing": { FramingTarget() },
    "messages": { MessageTarget() },
    "json": { JSONTarget() },
    "tokens": { TokenTarget() },
    "waves": { WaveTarget() },
  ]

  static var names: [String] { byName.keys.sorted() }

  /// The one of this process, made when it is first needed; nil if none was named.
  // SAFETY: libFuzzer calls on one thread.
  nonisolated(unsafe) static let current: (any FuzzTarget)? = {
    // What a target keeps is no leak, also where Swift stores its address under a tag that LeakSanitizer does not see through.
    disableLeakDetection()
    defer { enableLeakDetection() }
    return FuzzMain.chosenName.flatMap { byName[$0] }.map { $0() }
  }()
}

@_silgen_name("__lsan_disable") private func disableLeakDetection()
@_silgen_name("__lsan_enable") private func enableLeakDetection()

@_cdecl("LLVMFuzzerCustomMutator")
func customMutator(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ room: Int, _ seed: UInt32) -> Int {
  // libFuzzer's seeds are 32 bits: spread over all 64, none begins within the numbers of another.
  var random = SeededRandom(UInt64(seed) &* 0x9e37_79b9_7f4a_7c15)
  return FuzzTargets.current?.mutate(data, size: size, room: room, random: &random) ?? size
}

/// libFuzzer's own mutations, also for a part of an input.
@_silgen_name("LLVMFuzzerMutate")
func libFuzzerMutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ room: Int) -> Int
