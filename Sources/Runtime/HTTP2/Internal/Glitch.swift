/// Something that a peer does without any use, as long as it does it rarely.
enum Glitch: CaseIterable {
  /// A request that is cancelled.
  case reset
  /// A request that the server resets: malformed, refused, never read.
  case malformedRequest
  /// A header list over the limit.
  case longHeaders
  /// More CONTINUATION frames than a header block may have. Not a matter of how often.
  case continuation
  /// PING while nothing happens, or an acknowledgement of one.
  case ping, pingAnswer
  /// SETTINGS after the first. Each may change the windows of all streams.
  case settings
  /// More answers to PING and SETTINGS than may wait. Not a matter of how often.
  case unreadAnswers
  /// PRIORITY, which nothing here uses.
  case priority
  /// WINDOW_UPDATE that answers no DATA.
  case windowUpdate
  /// DATA without content that ends nothing.
  case emptyData
  /// DATA shorter than the prefix of a message.
  case tinyData
  /// A frame of a type that means nothing here.
  case unknownFrame

  /// How much of the burst it takes.
  var cost: Double {
    switch self {
    case .reset, .malformedRequest, .pingAnswer, .priority, .windowUpdate, .unknownFrame: 1
    case .emptyData, .longHeaders: 10
    // Fewer of them than answers may wait, so that it is this that ends a flood.
    case .ping, .settings: 12
    case .tinyData: 0.04
    case .continuation, .unreadAnswers: .infinity
    }
  }

  /// What a GOAWAY says of it. `too_many_pings` is known to clients of gRPC, which ping less often from then on (gRFC A8).
  var cause: StaticString {
    switch self {
    case .reset: "too_many_resets"
    case .malformedRequest: "too_many_malformed_requests"
    case .longHeaders: "too_many_long_header_lists"
    case .continuation: "too_many_continuations"
    case .ping, .pingAnswer: "too_many_pings"
    case .settings: "too_many_settings"
    case .unreadAnswers: "too_many_unread_answers"
    case .priority: "too_many_priorities"
    case .windowUpdate: "too_many_window_updates"
    case .emptyData: "too_many_empty_data_frames"
    case .tinyData: "too_many_tiny_data_frames"
    case .unknownFrame: "too_many_unknown_frames"
    }
  }
}
