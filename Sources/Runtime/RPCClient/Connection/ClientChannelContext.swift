internal import EventLoop

/// What all loops of a channel share: what it was made with, and what only the whole of it can know.
final class ClientChannelContext: Sendable {
  let target: ChannelTarget
  let configuration: ClientChannelConfiguration
  let loadBalancing: LoadBalancingPolicy
  let methods: MethodConfigTable
  let throttle: RetryThrottle?
  /// Nil when the addresses are known without asking.
  let resolution: Resolution?

  init(_ target: ChannelTarget, on group: EventLoopGroup, _ configuration: ClientChannelConfiguration) {
    self.target = target
    self.configuration = configuration
    loadBalancing = configuration.serviceConfig.loadBalancing ?? configuration.loadBalancing
    methods = MethodConfigTable(configuration.serviceConfig.methods)
    throttle = configuration.serviceConfig.retryThrottling.map(RetryThrottle.init)
    resolution =
      if target.fixedAddresses == nil, case .host(let host, let port) = target {
        Resolution(
          host, port, configuration.resolver ?? SystemResolver(on: group.blocking),
          minimumInterval: configuration.resolutionInterval, backoff: configuration.backoff,
          answered: configuration.events.resolved)
      } else {
        nil
      }
  }
}
