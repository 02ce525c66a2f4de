internal import ArgumentParser

/// `parley-<service> serve`.
struct ServeCommand<S: Service>: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "serve", abstract: "Serves until SIGTERM or SIGINT, then drains.",
      discussion: """
        On the first signal the service answers NOT_SERVING, accepts no more connections, and finishes the calls under way, for \
        at most \(Settings.prefix(S.name))DRAIN_TIMEOUT. A second signal ends it at once.

        It tells systemd when it is ready, stopping and alive (NOTIFY_SOCKET, WATCHDOG_USEC), and takes over listening sockets \
        (LISTEN_FDS; one named `tls` is for TLS).
        """)
  }

  @OptionGroup var flags: SettingFlags

  func run() async throws {
    let settings = try Settings(S.self, flags)
    do { try await ServiceProcess(S.self, settings, environment: ProcessEnvironment.all).run() } catch { throw error.exit() }
  }
}
