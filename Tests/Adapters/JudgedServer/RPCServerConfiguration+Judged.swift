public import RPCServer

extension RPCServerConfiguration {
  /// What holds for every server that outside judges examine: pages of any origin may call it, since some judges are browsers.
  public static var judged: RPCServerConfiguration {
    var configuration = RPCServerConfiguration()
    configuration.cors = CORSPolicy(.any)
    return configuration
  }
}
