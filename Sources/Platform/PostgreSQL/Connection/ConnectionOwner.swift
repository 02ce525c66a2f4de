/// Who opened a ``Connection`` and decides what becomes of its requests. Called on the loop.
protocol ConnectionOwner: AnyObject {
  /// The connection can be used.
  func connectionDidOpen(_ connection: Connection)

  /// The connection is gone, or never came to be. `unanswered` were sent and got no answer.
  func connectionDidClose(_ connection: Connection, _ error: DatabaseError, unanswered: [Request])

  /// A read got its result.
  func connection(_ connection: Connection, didAnswer read: Request, _ result: OpaquePointer)

  /// A read got an error that says something about itself.
  func connection(_ connection: Connection, didFail read: Request, _ error: DatabaseError)

  /// A read did not run, for no fault of its own: it is to be sent again.
  func connection(_ connection: Connection, mustRepeat read: Request)

  /// A segment of reads has been answered, each of them.
  func connectionDidEndSegment(_ connection: Connection)

  /// A transaction, step or script has ended; its results or its error are in the request.
  func connection(_ connection: Connection, didFinish request: Request)

  /// A request to give up what runs has been delivered, or could not be: none is on its way any more.
  func connectionWasCancelled(_ connection: Connection)

  /// A notification arrived on a channel that the session listens to.
  func connection(_ connection: Connection, didHear channel: String, _ payload: String)
}

extension ConnectionOwner {
  func connection(_ connection: Connection, mustRepeat read: Request) { connection.send(read: read) }

  func connectionDidEndSegment(_ connection: Connection) {}

  func connectionWasCancelled(_ connection: Connection) {}

  func connection(_ connection: Connection, didHear channel: String, _ payload: String) {}
}
