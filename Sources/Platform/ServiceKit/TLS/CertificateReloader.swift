internal import EventLoop
internal import HTTP2
internal import Logging
internal import Synchronization
internal import Telemetry

/// Renews a server's certificate, key and client roots while it runs, from the files that they were read from.
///
/// Files are compared every few seconds rather than watched by inotify: that holds for links that are swapped, folders that are
/// replaced, bind mounts and network file systems alike. A change is read once two looks have seen the same files, so that a
/// certificate is not read before its key is there. What cannot be used leaves the old context in place, is logged with the
/// reason, and is tried again at each look: a certificate that is not valid yet becomes so without a change.
final class CertificateReloader: Sendable {
  /// Why files are read.
  enum Cause: String, Sendable {
    /// They look different.
    case change = "the files changed"
    /// Somebody asked (SIGHUP).
    case request = "asked to"
  }

  private typealias Look = [FileFingerprint?]

  private struct State {
    /// What the files looked like before they were read for the context in use.
    var used: Look
    /// What they looked like at the last look.
    var seen: Look
    /// Why they could not be used, at which look.
    var failure: (message: String, look: Look)?
  }

  /// What connections begin with.
  let source: TLSContextSource
  private let settings: Settings
  private let log: Logger
  private let files: [String]
  private let state: Mutex<State>
  private let renewed: PrometheusCounter
  private let failed: PrometheusCounter

  /// Reads the files for the first time; nil when TLS is not served.
  init?(_ settings: Settings, _ log: Logger, _ registry: PrometheusRegistry) throws(TLSError) {
    let files = ServerTLS.files(settings)
    let look = files.map { FileFingerprint($0) }
    guard let context = try ServerTLS.context(settings) else { return nil }
    let source = TLSContextSource(context)
    self.source = source
    self.settings = settings
    self.log = log
    self.files = files
    state = Mutex(State(used: look, seen: look))
    let name = "parley_tls_reloads_total"
    renewed = registry.counter(name, help: "Times that TLS files were read again.", labels: [("result", "ok")])
    failed = registry.counter(name, labels: [("result", "failed")])
    registry.gauge(
      "parley_tls_certificate_expiry_timestamp_seconds", help: "When the certificate in use ends, in seconds since 1970."
    ) { Double(source.current.certificateExpiry ?? 0) }
  }

  /// Looks at the files once, and reads them when they have changed and settled. Blocks for as long as files do.
  func look() {
    let look = files.map { FileFingerprint($0) }
    state.withLock { state in
      defer { state.seen = look }
      guard look == state.seen, look != state.used || state.failure != nil else { return }
      read(look, .change, &state)
    }
  }

  /// Reads the files now, changed or not. Blocks for as long as files do.
  func reload() {
    let look = files.map { FileFingerprint($0) }
    state.withLock { state in
      state.seen = look
      read(look, .request, &state)
    }
  }

  /// Looks at the files again and again until it is cancelled.
  func run(on pool: BlockingPool) async throws {
    while true {
      try await Task.sleep(for: settings[StandardKeys.tlsWatchInterval])
      try await pool.run { self.look() }
    }
  }

  private func read(_ look: Look, _ cause: Cause, _ state: inout State) {
    do throws(TLSError) {
      guard let context = try ServerTLS.context(settings) else { return }
      source.replace(with: context)
      state.used = look
      state.failure = nil
      renewed.increment()
      let days = context.certificateExpiry.map { "\(($0 - WallClock.system.unixSeconds) / 86_400)" } ?? "unknown"
      log.info("the TLS certificate is renewed", metadata: ["cause": "\(cause.rawValue)", "days_left": "\(days)"])
    } catch {
      // The same reason for the same files is told once, unless somebody asks.
      let isKnown = cause == .change && state.failure.map { $0.message == error.message && $0.look == look } == true
      state.failure = (error.message, look)
      guard !isKnown else { return }
      failed.increment()
      log.error(
        "the new TLS files cannot be used; the old certificate stays",
        metadata: ["cause": "\(cause.rawValue)", "reason": "\(error.code)", "error": "\(error.message)"])
    }
  }
}
