import TestSupport

/// What a hostile peer sends on one connection.
struct Flood: Sendable {
  /// Its SETTINGS.
  var settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)]
  /// What comes after them, once.
  var opening: [UInt8] = []
  /// The unit of a number; numbers count from 0.
  var unit: @Sendable (Int) -> [UInt8]
  /// Units that are sent, unless the connection ends before.
  var units = 100_000
  /// Whether what the server says is read. Once the server has closed the connection, it is read in any case.
  var reads = true

  /// Frames that are the same each time.
  static func same(_ frames: HTTP2Frame..., opening: [UInt8] = [], reads: Bool = true) -> Flood {
    let bytes = frames.flatMap(\.bytes)
    return Flood(opening: opening, unit: { _ in bytes }, reads: reads)
  }

  /// Frames of a stream of their own each time.
  static func streams(settings: [(UInt16, UInt32)] = [(4, 0x7fff_ffff)], _ frames: @escaping @Sendable (UInt32) -> [HTTP2Frame])
    -> Flood
  {
    Flood(settings: settings, unit: { number in frames(UInt32(number * 2 + 1)).flatMap(\.bytes) })
  }
}

/// How a hostile connection ended.
struct Ending: Sendable {
  /// The code of the last GOAWAY, when one came.
  var code: UInt32?
  /// What the GOAWAY said besides.
  var debug = ""
  /// Whether the server closed the connection.
  var isClosed = false
  /// Units that the kernel took.
  var units = 0
  /// RST_STREAM frames heard.
  var resets = 0
}
