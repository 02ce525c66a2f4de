internal import EventLoop
internal import HTTP2
internal import RPCServer
internal import Telemetry

/// Opens everything that a service listens on: sockets that systemd handed over, and addresses from the settings for the rest.
struct Listeners {
  private let settings: Settings
  private let activation: SocketActivation
  private let certificates: CertificateReloader?

  init(_ settings: Settings, _ activation: SocketActivation, _ certificates: CertificateReloader?) {
    self.settings = settings
    self.activation = activation
    self.certificates = certificates
  }

  /// Opens them all; one that cannot be opened closes those before it with the server.
  func open(_ server: RPCServer, _ pages: AdminPages, _ resources: ServiceResources) throws -> (BoundAddresses, LoopbackListener?)
  {
    var addresses = BoundAddresses()
    addresses.grpc = try open(.grpc, at: settings[StandardKeys.listen], on: server, nil)
    if let certificates { addresses.tls = try open(.tls, at: settings[StandardKeys.tlsListen], on: server, certificates.source) }
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
    _ role: SocketActivation.Role, at address: SocketAddress?, on server: RPCServer, _ tls: TLSContextSource?
  ) throws(EventLoopError) -> SocketAddress? {
    guard let inherited = activation.descriptors[role], !inherited.isEmpty else {
      guard let address else { return nil }
      let access = UnixSocketAccess(
        mode: settings[StandardKeys.unixMode].bits, group: settings[StandardKeys.unixGroup]?.number)
      return try server.listen(on: address, renewing: tls, unixAccess: access)
    }
    var first: SocketAddress?
    for descriptor in inherited {
      let bound = try server.listen(inheriting: descriptor, renewing: tls)
      first = first ?? bound
    }
    return first
  }
}
