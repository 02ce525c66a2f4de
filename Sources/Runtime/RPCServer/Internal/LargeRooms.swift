internal import RPC

/// The rooms for large requests, by name: those of one kind wait for each other, and for no others.
struct LargeRooms: Sendable {
  private let rooms: [String: LargeRequests]

  /// - Parameters:
  ///   - limits: The largest requests, by room, of methods and routes that take more than others.
  ///   - configuration: How much each room may hold.
  init(_ limits: [(room: String, bytes: Int)], _ configuration: RPCServerConfiguration) {
    let largest = Dictionary(limits.map { ($0.room, $0.bytes) }, uniquingKeysWith: max)
    rooms = Dictionary(
      uniqueKeysWithValues: largest.map { name, bytes in
        (name, LargeRequests(limit: configuration.roomBytes(name, largest: bytes)))
      })
  }

  /// The room of this name; nil where nobody has any.
  subscript(name: String) -> LargeRequests? { rooms[name] }

  /// The bytes that are let in, and how many requests wait, in all of them.
  var usage: (bytes: Int, waiting: Int) {
    rooms.values.reduce(into: (bytes: 0, waiting: 0)) { sum, room in
      let usage = room.usage
      sum.bytes += usage.bytes
      sum.waiting += usage.waiting
    }
  }
}
