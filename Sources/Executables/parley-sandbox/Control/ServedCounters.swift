import JSON
import RPCServer
import Synchronization

/// How often each path was asked for, and how that ended.
final class ServedCounters: Sendable {
  /// The numbers of one path.
  struct Numbers: Sendable, Equatable {
    var requests = 0
    var dropped = 0
    var statuses: [Int: Int] = [:]
  }

  private let paths = Mutex<[String: Numbers]>([:])

  /// The numbers of `path`.
  subscript(path: String) -> Numbers { paths.withLock { $0[path] ?? Numbers() } }

  /// Counts one answer.
  func count(_ path: String, _ response: HTTPServerResponse) {
    paths.withLock { paths in
      paths[path, default: Numbers()].requests += 1
      if response.resetsStream {
        paths[path, default: Numbers()].dropped += 1
      } else {
        paths[path, default: Numbers()].statuses[response.status, default: 0] += 1
      }
    }
  }

  /// Begins again from zero.
  func reset() { paths.withLock { $0 = [:] } }

  /// `{"paths": {"/google/certs": {"requests": 3, "dropped": 1, "statuses": {"200": 2}}}}`
  var json: JSONValue {
    let paths = paths.withLock { $0 }
    let members = paths.sorted { $0.key < $1.key }.map { path, numbers -> (String, JSONValue) in
      let statuses = numbers.statuses.sorted { $0.key < $1.key }.map { ("\($0.key)", JSONValue.number(JSONNumber($0.value))) }
      return (
        path,
        [
          "requests": .number(JSONNumber(numbers.requests)), "dropped": .number(JSONNumber(numbers.dropped)),
          "statuses": .object(JSONObject(statuses)),
        ]
      )
    }
    return ["paths": .object(JSONObject(members))]
  }
}
