internal import Buffers

extension HTTP2Connection {
  /// Bytes that wait for the peer: what the socket did not take, and what the first 1,000 streams have to say.
  package var queuedBytes: Int { streams.prefix(1_000).reduce(backlog?.count ?? 0) { $0 + $1.outbound.count } }
}
