internal import CPostgreSQL

/// The three parallel arrays in which libpq takes parameters, reused by all statements of a connection.
final class ArgumentBuffer {
  private var capacity = 0
  private var values: UnsafeMutablePointer<UnsafePointer<CChar>?>
  private var lengths: UnsafeMutablePointer<Int32>
  private var formats: UnsafeMutablePointer<Int32>

  init() {
    capacity = 16
    values = .allocate(capacity: 16)
    lengths = .allocate(capacity: 16)
    formats = .allocate(capacity: 16)
  }

  deinit { free() }

  /// Sends the execution of a prepared statement, with results in binary.
  func send(_ query: borrowing Query, as name: UnsafePointer<CChar>, on connection: OpaquePointer) -> Bool {
    let count = query.parameterCount
    if count > capacity { grow(to: count) }
    return query.bytes.withUnsafeBufferPointer { bytes in
      var index = 0
      for part in query.parts where part.isParameter {
        lengths[index] = part.count
        formats[index] = part.isText ? 0 : 1
        if part.count < 0 {
          values[index] = nil
        } else if let base = bytes.baseAddress {
          values[index] = UnsafeRawPointer(base + Int(part.offset)).assumingMemoryBound(to: CChar.self)
        } else {
          // An empty value is not NULL: any address will do.
          values[index] = name
        }
        index += 1
      }
      return PQsendQueryPrepared(connection, name, Int32(count), values, lengths, formats, 1) == 1
    }
  }

  private func grow(to count: Int) {
    free()
    capacity = count
    values = .allocate(capacity: count)
    lengths = .allocate(capacity: count)
    formats = .allocate(capacity: count)
  }

  private func free() {
    values.deallocate()
    lengths.deallocate()
    formats.deallocate()
  }
}
