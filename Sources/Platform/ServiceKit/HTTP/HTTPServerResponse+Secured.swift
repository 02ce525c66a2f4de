public import RPCServer

extension HTTPServerResponse {
  /// The answer for its caller alone: no cache keeps it unless it says so itself, and no browser guesses at its type.
  public var secured: HTTPServerResponse {
    var response = self
    if !headers.contains(where: { $0.name == "cache-control" }) { response.headers.append(("cache-control", "no-store")) }
    response.headers.append(("x-content-type-options", "nosniff"))
    return response
  }
}
