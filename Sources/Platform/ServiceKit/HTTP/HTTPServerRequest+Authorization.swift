public import RPCServer

extension HTTPServerRequest {
  /// What the caller shows: the one field `authorization`; nil where there is none, or more than one.
  public var authorization: String? {
    let fields = headerValues("authorization")
    return fields.count == 1 ? fields[0] : nil
  }
}
