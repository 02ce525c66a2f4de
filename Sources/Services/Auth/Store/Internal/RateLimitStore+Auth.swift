public import EventLoop
public import Limits
public import PostgreSQL

extension RateLimitStore {
  /// The buckets of this service. None is made of somebody who has asked for the account's deletion.
  public static func auth(_ database: Database, loops: [EventLoop]) -> RateLimitStore {
    RateLimitStore(schema: "auth", database, loops: loops) { person in
      "exists (select from auth.account_work as work where work.user_id = \(part: person) and work.kind = 'deletion')"
    }
  }
}
