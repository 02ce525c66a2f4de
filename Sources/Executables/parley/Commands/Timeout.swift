import ArgumentParser

/// A length of time as people write it: `250ms`, `5s`, `1m`.
struct Timeout: ExpressibleByArgument, CustomStringConvertible {
  let duration: Duration

  init(duration: Duration) { self.duration = duration }

  init?(argument: String) {
    let units: [(String, Duration)] = [("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60))]
    guard let unit = units.first(where: { argument.hasSuffix($0.0) }) else { return nil }
    guard let count = Int(argument.dropLast(unit.0.count)), (1...86_400_000).contains(count) else { return nil }
    duration = unit.1 * count
  }

  var description: String {
    let milliseconds = duration / .milliseconds(1)
    return milliseconds < 1000 ? "\(Int(milliseconds))ms" : "\(Int(milliseconds / 1000))s"
  }

  var defaultValueDescription: String { description }
}
