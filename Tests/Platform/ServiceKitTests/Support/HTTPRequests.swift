import RPC

@testable import RPCServer

extension HTTPServerRequest {
  /// A request that no connection brought.
  static func forTest(
    method: String, path: String, headers: [(name: String, value: String)] = [], peer: Peer = Peer(address: "127.0.0.1")
  ) -> HTTPServerRequest {
    HTTPServerRequest(method: method, authority: "", path: path, query: "", headers: headers, body: [], peer: peer)
  }
}
