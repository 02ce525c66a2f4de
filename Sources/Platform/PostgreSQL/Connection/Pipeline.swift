/// What a connection has sent and the server still owes an answer to, in order: the pure core of a ``Connection``.
///
/// Events are the results that libpq hands out; the action says what the connection must do about each. Two kinds of request
/// share the rules of a segment (all that stands before one sync): a *read* is answered by its own result and, when a
/// neighbour's error aborts it, is sent again, because it never ran; a *transaction* of one or more steps owns its segment
/// and is answered only by the sync, because that is when it is committed.
struct Pipeline<Request> {
  /// One thing sent.
  enum Entry {
    /// A PREPARE, for the request that follows; without a statement when it is for that request alone.
    case prepare(statement: Int?, Request, isRead: Bool)
    case read(Request)
    case step(Request)
    /// The end of a segment; with the request that owns it, if any.
    case sync(Request?)
  }

  /// One result.
  enum Event {
    case success
    case failure
    /// Not run, because something before it in the segment failed.
    case aborted
    case sync
  }

  enum Action {
    case none
    /// The statement can be used from now on.
    case prepared(statement: Int)
    /// The statement does not exist after all.
    case unprepared(statement: Int)
    /// The result answers the read.
    case answer(Request)
    /// The result is the error of the read; with the statement that could not be prepared.
    case fail(Request, unprepared: Int?)
    /// The read never ran: send it again.
    case resend(Request)
    /// The result is one of the transaction's.
    case collect(Request)
    /// The result is the error of the transaction.
    case collectFailure(Request, unprepared: Int?)
    /// The transaction has ended, and with it its segment.
    case finish(Request)
    /// A segment of reads has ended.
    case segmentEnded
    /// The server answered what was not asked.
    case violation
  }

  private(set) var entries = Ring<Entry>()
  /// A read whose PREPARE failed has its answer already: the abortion of the read itself says nothing more.
  private var isReadAnswered = false

  /// Whether the server owes nothing.
  var isIdle: Bool { entries.isEmpty }
  /// How many answers the server owes.
  var count: Int { entries.count }

  mutating func sent(_ entry: Entry) { entries.append(entry) }

  mutating func handle(_ event: Event) -> Action {
    guard let head = entries.first else { return .violation }
    // An error while the segment commits comes before the sync's own result and leaves the sync in place.
    if case .sync(let owner) = head, case .failure = event { return owner.map { .collectFailure($0, unprepared: nil) } ?? .none }
    _ = entries.popFirst()
    switch (head, event) {
    case (.prepare(let statement, _, _), .success): return statement.map { .prepared(statement: $0) } ?? .none
    case (.prepare(let statement, _, _), .aborted): return statement.map { .unprepared(statement: $0) } ?? .none
    case (.prepare(let statement, let request, isRead: true), .failure):
      isReadAnswered = true
      return .fail(request, unprepared: statement)
    case (.prepare(let statement, let request, isRead: false), .failure):
      return .collectFailure(request, unprepared: statement)
    case (.read(let request), .success): return .answer(request)
    case (.read(let request), .failure): return .fail(request, unprepared: nil)
    case (.read(let request), .aborted):
      defer { isReadAnswered = false }
      return isReadAnswered ? .none : .resend(request)
    case (.step(let request), .success): return .collect(request)
    case (.step(let request), .failure): return .collectFailure(request, unprepared: nil)
    case (.step, .aborted): return .none
    case (.sync(let owner), .sync): return owner.map { .finish($0) } ?? .segmentEnded
    default: return .violation
    }
  }

  /// Empties the queue of a connection that broke.
  ///
  /// - Returns: The requests without an answer, each once, in the order in which they were sent.
  mutating func abandon() -> [Request] {
    var requests: [Request] = []
    while let entry = entries.popFirst() {
      switch entry {
      case .read(let request):
        if !isReadAnswered { requests.append(request) }
        isReadAnswered = false
      case .sync(let owner): if let owner { requests.append(owner) }
      case .prepare, .step: break
      }
    }
    return requests
  }
}
