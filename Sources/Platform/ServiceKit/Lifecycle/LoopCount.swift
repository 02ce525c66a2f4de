internal import EventLoop
internal import Glibc
internal import Logging
internal import PostgreSQL

/// How many loops a process runs when nobody has said: one per core, but no more than its share of the machine and of the database's
/// connections feed.
///
/// A container often may use two cores of a machine of sixty-four; each loop beyond that would only take turns with others. And each
/// loop has connections of its own, so that a large machine would ask for more than a server of 100 connections has.
struct LoopCount: Equatable {
  /// The number.
  let count: Int
  /// What has kept it below the number of cores; nil where nothing has.
  let reason: String?

  /// The least of what there is, and at least one.
  ///
  /// - Parameters:
  ///   - cores: What the process may run on.
  ///   - quota: Cores' worth of time that it gets; nil for no limit.
  ///   - budget: Loops whose connections the database has room for; nil where that is not known.
  init(cores: Int, quota: Double? = nil, budget: Int? = nil) {
    var (count, reason) = (max(1, cores), String?.none)
    if let quota, Int(quota.rounded(.up)) < count {
      (count, reason) = (max(1, Int(quota.rounded(.up))), "the control group's quota of \(quota) cores")
    }
    if let budget, budget < count { (count, reason) = (max(1, budget), "the connections that the database has for this copy") }
    (self.count, self.reason) = (count, reason)
  }

  /// What the settings ask for, or what fits.
  static func decide<S: Service>(_ service: S.Type, _ settings: Settings, _ log: Logger) async -> Int {
    let asked = settings[StandardKeys.loops]
    guard asked == 0 else { return asked }
    let cores = EventLoopGroup.usableCores
    var found = LoopCount(cores: cores, quota: CPUQuota.current())
    if found.count > 1, S.hasDatabase, let budget = await budget(S.self, settings, log) {
      found = LoopCount(cores: cores, quota: CPUQuota.current(), budget: budget)
    }
    var metadata: Logger.Metadata = ["loops": "\(found.count)", "cores": "\(cores)"]
    if let reason = found.reason { metadata["limitedBy"] = "\(reason)" }
    log.info("as many loops as fit", metadata: metadata)
    return found.count
  }

  /// Asked once: a server that does not answer yet is waited for later, with its budget checked then.
  private static func budget<S: Service>(_ service: S.Type, _ settings: Settings, _ log: Logger) async -> Int? {
    guard let configuration = try? ServiceResources.database(S.self, settings),
      let group = try? EventLoopGroup(count: 1, name: "\(S.name)-count", blockingThreads: 1)
    else { return nil }
    let limit = try? await Session.with(configuration, group: group, log: log) { session in
      try await session.value("select current_setting('max_connections')::int4", as: Int.self)
    }
    let pool = BlockingPool(maximumThreads: 1)
    try? await pool.run { group.shutDown() }
    pool.shutDown()
    return limit.map { configuration.mostLoops(maximumConnections: $0) }
  }
}

/// The time on processors that the control group of this process gives it, as Docker, Kubernetes and systemd set it.
enum CPUQuota {
  /// Cores' worth; nil for no limit, or where there are no control groups.
  static func current() -> Double? {
    least(groups: text("/proc/self/cgroup") ?? "") { text("/sys/fs/cgroup" + $0) }
  }

  /// The least of the limits of a process's group and of all that it is in.
  ///
  /// - Parameters:
  ///   - groups: `/proc/self/cgroup`.
  ///   - read: A file below the control groups' root; nil where there is none.
  static func least(groups: String, _ read: (String) -> String?) -> Double? {
    var quotas: [Double] = []
    for line in groups.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let isUnified = fields[0] == "0" && fields[1].isEmpty
      guard isUnified || fields[1].split(separator: ",").contains("cpu") else { continue }
      var path = String(fields[2])
      while true {
        let folder = path == "/" ? "" : path
        if let quota = isUnified ? unified(read(folder + "/cpu.max")) : classic(folder, read) { quotas.append(quota) }
        guard !folder.isEmpty, let slash = folder.lastIndex(of: "/") else { break }
        path = String(folder[..<slash])
      }
    }
    return quotas.min()
  }

  /// `MICROSECONDS PERIOD`, or `max PERIOD`.
  private static func unified(_ text: String?) -> Double? {
    let fields = (text ?? "").split { $0 == " " || $0 == "\n" }.map { Double($0) }
    guard fields.count == 2, let quota = fields[0], let period = fields[1], quota > 0, period > 0 else { return nil }
    return quota / period
  }

  /// Version 1: two files; -1 is no limit.
  private static func classic(_ folder: String, _ read: (String) -> String?) -> Double? {
    func number(_ name: String) -> Double? { read("/cpu\(folder)/\(name)").flatMap { Double($0.filter { !$0.isWhitespace }) } }
    guard let quota = number("cpu.cfs_quota_us"), let period = number("cpu.cfs_period_us"), quota > 0, period > 0 else {
      return nil
    }
    return quota / period
  }

  private static func text(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
