internal import Glibc
internal import RPC
internal import RPCWire

/// A method and the code that serves it, in one object: calls keep and pass on a single reference.
final class ServedMethod: Sendable {
  let method: MethodInfo
  let kind: MethodKind
  let serve: MethodRoute.Serve
  /// See ``MethodRoute/endsWithServer``.
  let endsWithServer: Bool
  /// The largest request.
  let maximumRequestBytes: Int
  /// Whether a call begins before its request is there: a stranger's large one is refused instead of received.
  let beginsAtHeaders: Bool
  /// Where its large requests wait; nil where it takes none.
  let room: LargeRequests?
  private let limit: RequestLimit?

  init(_ route: MethodRoute, maximumRequestBytes: Int, _ rooms: LargeRooms) {
    method = route.method
    kind = route.method.kind
    serve = route.serve
    endsWithServer = route.endsWithServer
    limit = route.requestLimit
    self.maximumRequestBytes = limit?.bytes ?? maximumRequestBytes
    beginsAtHeaders = kind == .unary && self.maximumRequestBytes > maximumRequestBytes
    room = beginsAtHeaders ? limit.flatMap { rooms[$0.room] } : nil
  }

  /// What a larger request of so many bytes is answered with; nil where it is not known how many.
  func tooLarge(_ size: Int? = nil) -> RPCError {
    if let limit { return limit.refusal(method.service.split(separator: ".").dropLast().joined(separator: ".")) }
    guard let size else { return .messageTooLarge(limit: maximumRequestBytes) }
    return .messageTooLarge(size, limit: maximumRequestBytes)
  }
}

/// What a path leads to.
final class RouteEntry: Sendable {
  enum Target: Sendable {
    case rpc(ServedMethod)
    case http(HTTPRoute)
  }

  let path: String
  let target: Target
  /// The method, when it leads to one.
  let method: ServedMethod?
  /// Where large bodies of a plain HTTP route wait; nil where there are none.
  let room: LargeRequests?
  private let pathBytes: [UInt8]

  init(_ path: String, _ target: Target, room: LargeRequests? = nil) {
    self.path = path
    self.room = room
    self.target = target
    method = if case .rpc(let method) = target { method } else { nil }
    pathBytes = Array(path.utf8)
  }

  /// The plain HTTP route, when it leads to one.
  var http: HTTPRoute? { if case .http(let route) = target { route } else { nil } }

  /// A route whose last segment is a name, `/clips/:user`, as the part before that; nil for any other.
  var family: String? {
    guard case .http = target, let slash = path.lastIndex(of: "/"), path[slash...].hasPrefix("/:") else { return nil }
    return String(path[...slash])
  }

  @inline(__always)
  func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress, bytes.count == pathBytes.count else { return false }
    return pathBytes.withUnsafeBytes { memcmp($0.baseAddress.unsafelyUnwrapped, base, bytes.count) == 0 }
  }
}

/// All paths of a server: an open hash over the bytes as they came, built once.
struct RouteTable: Sendable {
  private let entries: [RouteEntry]
  /// What `entries` holds, without a reference to count for each look.
  private var slots: [Unmanaged<RouteEntry>?]
  private let mask: Int
  /// Routes that stand for all paths with one more segment, by what comes before that.
  private let families: [(prefix: [UInt8], entry: RouteEntry)]

  init(_ entries: [RouteEntry]) {
    var size = 16
    while size < entries.count * 2 { size *= 2 }
    self.entries = entries
    families = entries.compactMap { entry in entry.family.map { (Array($0.utf8), entry) } }
    slots = Array(repeating: nil, count: size)
    mask = size - 1
    for entry in entries {
      var index = Array(entry.path.utf8).withUnsafeBytes { Self.hash($0) } & mask
      while let taken = slots[index] {
        precondition(taken.takeUnretainedValue().path != entry.path, "two routes for \(entry.path)")
        index = (index + 1) & mask
      }
      slots[index] = .passUnretained(entry)
    }
  }

  func entry(for path: UnsafeRawBufferPointer) -> Unmanaged<RouteEntry>? {
    var index = Self.hash(path) & mask
    while let entry = slots[index] {
      if entry._withUnsafeGuaranteedRef({ $0.matches(path) }) { return entry }
      index = (index + 1) & mask
    }
    return families.isEmpty ? nil : family(of: path)
  }

  private func family(of path: UnsafeRawBufferPointer) -> Unmanaged<RouteEntry>? {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")), slash + 1 < path.count else { return nil }
    return families.first { $0.prefix.elementsEqual(path[...slash]) }.map { .passUnretained($0.entry) }
  }

  /// Only registered paths are in the table, so nobody outside chooses what collides in it: speed is all that counts.
  @inline(__always)
  private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
    var hash = UInt64(truncatingIfNeeded: bytes.count)
    var offset = bytes.count
    // The end of a path tells methods apart; two words of it are enough.
    for _ in 0..<2 where offset >= 8 {
      offset -= 8
      hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 29
    }
    for index in 0..<min(offset, 7) { hash = (hash ^ UInt64(bytes[index])) &* 0x9E37_79B9_7F4A_7C15 }
    return Int(truncatingIfNeeded: hash >> 20)
  }
}
