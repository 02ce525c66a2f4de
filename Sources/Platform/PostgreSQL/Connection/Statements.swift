internal import CPostgreSQL
internal import Glibc

/// The prepared statements of one connection.
///
/// They are numbered as they come: a name is never used twice on a connection, so that one whose result type has changed can
/// simply be prepared again under another name.
struct Statements: ~Copyable {
  struct Entry {
    enum State {
      case unknown
      /// A PREPARE is on its way. Those sent later may rely on it, and are sent again when an error before it aborts it.
      case sent
      case prepared
    }

    /// The name as a C string.
    let name: UnsafeMutablePointer<CChar>
    /// What the server has, as far as its answers go.
    var state = State.unknown
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

  mutating func mark(_ index: Int, _ state: Entry.State) { entries[index].state = state }

  /// Whether the server has said that it has the statement which the query would be sent by now.
  func isPrepared(_ query: borrowing Query) -> Bool { indices[query.identity].map { entries[$0].state == .prepared } ?? false }

  /// The server no longer has the statement, or not in a form that can be used: the next use prepares another. One whose PREPARE
  /// is still on its way is another already.
  mutating func forget(_ query: borrowing Query) {
    if isPrepared(query) { indices[query.identity] = nil }
  }
}
