internal import Glibc
internal import RPC
internal import ServiceKit
internal import Values

/// What the demo keeps of people: notes, each a file `<folder>/<user>/<name>`.
///
/// A file `<folder>/stuck` makes a deletion fail after its first note; a file `<folder>/liar` makes it forget half and say nothing.
struct DemoNotes: AccountDataHolding {
  let folder: String?

  func export(of user: UUID, _ send: @escaping @Sendable (AccountDocumentPart) async throws -> Void) async throws {
    for name in names(user) {
      try await send(AccountDocumentPart(name, contentType: "text/plain", data: bytes("\(user)/\(name)")))
    }
  }

  /// What is to go is written down before it goes: a deletion that was cut short is told whole by the next call.
  func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount] {
    guard let folder else { return [] }
    let names = names(user)
    let journal = "\(folder)/deleted-\(work)"
    let descriptor = open(journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw RPCError(.unavailable, "no journal") }
    defer { close(descriptor) }
    for name in names { _ = write(descriptor, "\(name)\n", name.utf8.count + 1) }
    for (index, name) in names.enumerated() {
      if has("liar"), index % 2 == 1 { continue }
      unlink("\(folder)/\(user)/\(name)")
      if has("stuck") { throw RPCError(.unavailable, "stuck") }
    }
    rmdir("\(folder)/\(user)")
    let gone = Set(String(decoding: bytes("deleted-\(work)"), as: UTF8.self).split(separator: "\n"))
    return [AccountDataCount("notes", deleted: Int64(gone.count))]
  }

  func report(of user: UUID) async throws -> [AccountDataCount] {
    let count = names(user).count
    return count == 0 ? [] : [AccountDataCount("notes", held: Int64(count))]
  }

  // MARK: Files

  private func has(_ name: String) -> Bool { folder.map { access("\($0)/\(name)", F_OK) == 0 } ?? false }

  private func names(_ user: UUID) -> [String] {
    guard let folder, let directory = opendir("\(folder)/\(user)") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  private func bytes(_ name: String) -> [UInt8] {
    guard let folder else { return [] }
    let descriptor = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return bytes }
      bytes += buffer[..<count]
    }
  }
}
