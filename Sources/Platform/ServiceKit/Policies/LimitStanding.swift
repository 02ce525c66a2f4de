internal import Limits
internal import RPC
internal import Values

/// How a caller stands with a limit, told with the answer.
struct LimitStanding {
  let burst: Int
  let answer: BucketAnswer
  let now: Instant

  var fields: Metadata {
    RateLimitFields(limit: burst, remaining: answer.remaining, reset: Self.seconds(answer.fullAt, now)).metadata
  }

  /// Tells the caller of a call that goes on, unless a tighter limit has told it more: in headers where it speaks HTTP, in trailers
  /// where those are what a gRPC client reads at the end.
  func tell(_ call: any ServerCall) {
    if call.protocolName == "connect" { replace(in: &call.initialMetadata) } else { replace(in: &call.trailingMetadata) }
  }

  private func replace(in metadata: inout Metadata) {
    if let told = metadata[RateLimitFields.names[1]].flatMap({ Int($0) }), told <= answer.remaining { return }
    for entry in fields.entries {
      metadata.removeAll(entry.name)
      metadata.append(entry)
    }
  }

  /// Whole seconds until `moment`, rounded up; 0 when it is there.
  static func seconds(_ moment: Instant, _ now: Instant) -> Int64 {
    moment > now ? moment.duration(since: now).wholeSecondsUp : 0
  }
}
