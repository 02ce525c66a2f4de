internal import EventLoop
internal import Logging
internal import PostgreSQL
internal import Values

extension JobWorker {
  /// Enqueues what the schedules of the handlers say, when it is time. The database is asked only when something may be due.
  func keepSchedules() async {
    var next: [String: Instant] = [:]
    repeat {
      for schedule in handlers.schedules where next[schedule.name] ?? .distantPast <= queue.now() {
        do {
          next[schedule.name] = try await queue.enqueueDue(schedule) ?? .distantFuture
        } catch {
          next[schedule.name] = queue.now().advanced(by: .seconds(10))
          log.warning("a schedule cannot be kept", metadata: ["schedule": "\(schedule.name)", "cause": "\(error)"])
        }
      }
    } while (try? await loops[0].sleep(for: settings.poll)) != nil
  }
}
