public import Jobs
public import Logging
public import Pages
internal import ParleyAPI
public import RPC

/// `parley.jobs.v1.JobAdminService` over the queue of a service: any service serves it with one line.
///
/// ```swift
/// ServiceParts(services: [JobAdmin.routes(jobs.engine.queue, pages: pages, log: context.log)])
/// ```
public enum JobAdmin {
  /// The service's RPCs. Its methods are of ADMIN access.
  ///
  /// - Parameters:
  ///   - queue: The queue of the service.
  ///   - pages: What seals where its lists go on.
  ///   - log: Where what operators change is told.
  public static func routes(_ queue: Jobs.JobQueue, pages: PageKeyStore, log: Logger) -> ServiceRoutes {
    JobAdminService.routes(JobAdminHandlers(queue: queue, pages: pages, log: log))
  }
}
