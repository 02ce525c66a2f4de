internal import CPostgreSQL
internal import Glibc

/// The prepared statements of one connection.
///
/// They are numbered as they come: a name is never used twice on a connection, so that one whose result type has changed can
/// simply be prepared again under another name.
struct Statements: ~Copyable {
  struct Entry {
    /// The name as a C string.
    let name: UnsafeMutablePointer<CChar>
    /// Whether a PREPARE has been sent; those sent later may rely on it.
    var isSent = false
  }

  private var entries: [Entry] = []
  private var indices: [Query.Identity: Int] = [:]

  deinit { for entry in entries { free(entry.name) } }

  /// The statement of a query, known from now on.
  mutating func index(of query: borrowing Query) -> Int {
    if let index = indices[query.identity] { return index }
    let index = entries.count
    entries.append(Entry(name: strdup("p\(index)")))
    indices[query.identity] = index
    return index
  }

  subscript(index: Int) -> Entry { entries[index] }

  mutating func markSent(_ index: Int) { entries[index].isSent = true }

  /// The PREPARE did not happen.
  mutating func markUnsent(_ index: Int) { entries[index].isSent = false }

  /// The server no longer has the statement, or not in a form that can be used: the next use prepares another.
  mutating func forget(_ query: borrowing Query) { indices[query.identity] = nil }
}
