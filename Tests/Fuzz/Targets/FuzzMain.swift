import Glibc

/// `parley-fuzz TARGET [libFuzzer's arguments]`: runs one target. The children that libFuzzer starts by itself find its name in the
/// environment.
@main
struct FuzzMain {
  private static let variable = "PARLEY_FUZZ_TARGET"

  static func main() {
    var arguments = CommandLine.arguments
    if arguments.count > 1, FuzzTargets.byName[arguments[1]] != nil {
      setenv(variable, arguments.remove(at: 1), 1)
    }
    guard let target = FuzzTargets.current else {
      say("usage: parley-fuzz TARGET [arguments of libFuzzer]\ntargets: \(FuzzTargets.names.joined(separator: " "))")
      exit(64)
    }
    withExtendedLifetime(target) { exit(drive(arguments)) }
  }

  private static func drive(_ arguments: [String]) -> Int32 {
    // libFuzzer keeps the vector until the process ends.
    let vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: arguments.count + 1)
    for (index, argument) in arguments.enumerated() { vector[index] = strdup(argument) }
    vector[arguments.count] = nil
    var count = Int32(arguments.count)
    var start = vector
    return libFuzzerRunDriver(&count, &start) { data, size in
      FuzzTargets.current?.run(UnsafeRawBufferPointer(start: data, count: size))
      return 0
    }
  }

  /// The name under which the target of this process is found again.
  static var chosenName: String? { getenv(variable).map { String(cString: $0) } }
}

@_silgen_name("LLVMFuzzerRunDriver")
private func libFuzzerRunDriver(
  _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
