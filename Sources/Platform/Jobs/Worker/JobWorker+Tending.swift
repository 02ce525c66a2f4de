internal import EventLoop
internal import Logging
internal import PostgreSQL

extension JobWorker {
  /// Removes old dead jobs and says how much there is to do, now and then.
  func tend() async {
    var round = 0
    repeat {
      do throws(DatabaseError) {
        metrics.publish(try await queue.statistics(), at: queue.now())
        if round % 6 == 0 {
          while try await queue.purgeDead(olderThan: settings.deadRetention, atMost: 500) == 500 && !Task.isCancelled {}
        }
      } catch {
        log.debug("the queue cannot be looked at", metadata: ["cause": "\(error)"])
      }
      round += 1
    } while (try? await loops[0].sleep(for: .seconds(10))) != nil
  }
}
