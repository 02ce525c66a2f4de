internal import EventLoop
internal import HTTP2
internal import RPCServer
internal import Telemetry

/// Opens everything that a service listens on: sockets that systemd handed over, and addresses from the settings for the rest.
struct Listeners {
  private let settings: Settings
  private let activation: SocketActivation

  init(_ settings: Settings, _ activation: SocketActivation) {
    self.settings = settings
    self.activation = activation
  }

  /// Opens them all; one that cannot be opened closes those before it with the server.
  func open(_ server: RPCServer, _ pages: AdminPages, _ resources: ServiceResources) throws -> (BoundAddresses, LoopbackListener?)
  {
    var addresses = BoundAddresses()
    let tls = try ServerTLS.context(settings)
    addresses.grpc = try open(.grpc, at: settings[StandardKeys.listen], on: server, nil)
    if let tls { addresses.tls = try open(.tls, at: settings[StandardKeys.tlsListen], on: server, tls) }
    var admin: LoopbackListener?
    if let address = settings[StandardKeys.adminListen] {
      let listener = try LoopbackListener(on: address, group: resources.loops, routes: pages.routes)
      listener.start()
      addresses.admin = listener.address
      admin = listener
    }
    return (addresses, admin)
  }

  private func open(
    _ role: SocketActivation.Role, at address: SocketAddress?, on server: RPCServer, _ tls: TLSContext?
  ) throws(EventLoopError) -> SocketAddress? {
    guard let inherited = activation.descriptors[role], !inherited.isEmpty else {
      guard let address else { return nil }
      return try server.listen(on: address, tls: tls)
    }
    var first: SocketAddress?
    for descriptor in inherited {
      let bound = try server.listen(inheriting: descriptor, tls: tls)
      first = first ?? bound
    }
    return first
  }
}
