internal import HTTP2

/// The header lists that every call sends, built once.
enum HeaderLists {
  static let grpcResponse = HeaderList([":status": "200", "content-type": "application/grpc"], isStatic: true)
  static let grpcOK = HeaderList(["grpc-status": "0"], isStatic: true)
}
