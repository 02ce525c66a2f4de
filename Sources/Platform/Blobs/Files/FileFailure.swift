internal import Glibc

/// A call on a file that failed.
struct FileFailure: Error, CustomStringConvertible {
  /// Why.
  enum Reason: Equatable {
    /// What the system said.
    case system(Int32)
    /// The file ends before it should.
    case shorter
  }

  let call: String
  let reason: Reason

  init(call: String, reason: Reason) { (self.call, self.reason) = (call, reason) }

  /// The call that has just failed in this thread.
  init(_ call: String) { self.init(call: call, reason: .system(errno)) }

  var isAbsence: Bool { reason == .system(ENOENT) }

  var description: String {
    switch reason {
    case .system(let number): "\(call): \(String(cString: strerror(number)))"
    case .shorter: "\(call): the file has become shorter"
    }
  }

  /// What a store says of it.
  func blobError(_ what: String) -> BlobError {
    switch reason {
    case .shorter: BlobError(.corrupt, "\(what): \(self)")
    case .system(ENOENT): BlobError(.notFound, "\(what): \(self)")
    case .system(EACCES), .system(EPERM), .system(EROFS), .system(ENOTDIR), .system(ELOOP):
      BlobError(.refused, "\(what): \(self)")
    // A full disk too: somebody will make room.
    case .system: BlobError(.unavailable, "\(what): \(self)")
    }
  }
}
