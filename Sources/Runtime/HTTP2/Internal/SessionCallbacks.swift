internal import CNghttp2

/// The table of nghttp2's callbacks, the same for every session. Each looks at raw bytes first and at objects only when it
/// must; none sends, receives or deletes a session, which nghttp2 forbids inside itself.
enum SessionCallbacks {
  // SAFETY: built once, before first use, and only read afterwards.
  nonisolated(unsafe) static let table: OpaquePointer? = {
    var table: OpaquePointer?
    guard nghttp2_session_callbacks_new(&table) == 0 else { return nil }
    nghttp2_session_callbacks_set_send_callback(table) { _, data, length, _, user in
      SessionCallbacks.connection(user) { Int($0.take(data, length)) }
    }
    nghttp2_session_callbacks_set_send_data_callback(table) { _, frame, header, length, source, user in
      guard let frame, let header, let pointer = source?.pointee.ptr else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
      return SessionCallbacks.connection(user) { connection in
        Unmanaged<HTTP2Stream>.fromOpaque(pointer)._withUnsafeGuaranteedRef { stream in
          connection.takeData(header, stream, length, padding: frame.pointee.data.padlen)
        }
      }
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(table) { _, frame, user in
      guard let frame else { return 0 }
      return SessionCallbacks.connection(user) { $0.beginHeaders(frame) }
    }
    nghttp2_session_callbacks_set_on_header_callback(table) { _, _, name, nameLength, value, valueLength, _, user in
      guard let name, let value else { return 0 }
      return SessionCallbacks.connection(user) { $0.header(name, nameLength, value, valueLength) }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table) { _, _, id, data, length, user in
      guard let data else { return 0 }
      return SessionCallbacks.connection(user) { $0.dataChunk(id, UnsafeRawBufferPointer(start: data, count: length)) }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(table) { _, frame, user in
      guard let frame else { return 0 }
      return SessionCallbacks.connection(user) { $0.frameReceived(frame) }
    }
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(table) { _, frame, error, user in
      guard let frame else { return 0 }
      return SessionCallbacks.connection(user) { $0.invalidFrame(frame.pointee.hd, error) }
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(table) { _, frame, error, user in
      guard let frame else { return 0 }
      return SessionCallbacks.connection(user) { $0.frameNotSent(frame, error) }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(table) { session, id, error, user in
      SessionCallbacks.connection(user) { $0.streamClosed(id, HTTP2ErrorCode(rawValue: error)) }
    }
    return table
  }()

  @inline(__always)
  private static func connection<Result>(_ user: UnsafeMutableRawPointer?, _ body: (HTTP2Connection) -> Result) -> Result {
    // SAFETY: the connection deletes its session before it goes, so a session's callback always finds it.
    Unmanaged<HTTP2Connection>.fromOpaque(user.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
  }

  /// How a stream's DATA is produced.
  static func dataProvider(_ stream: HTTP2Stream) -> nghttp2_data_provider {
    nghttp2_data_provider(
      source: .init(ptr: Unmanaged.passUnretained(stream).toOpaque()),
      read_callback: { _, _, _, length, flags, source, _ in
        guard let pointer = source?.pointee.ptr, let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        return Unmanaged<HTTP2Stream>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.nextFrame(length, flags) }
      })
  }
}
