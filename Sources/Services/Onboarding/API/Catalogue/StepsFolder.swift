internal import Glibc
internal import JSON
internal import OnboardingDomain

/// A folder with later versions of the catalogue, each a document `NAME.json`.
struct StepsFolder {
  /// What is wrong with a document, or with the folder.
  struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
    /// `NAME.json: steps[3].type: …`
    let description: String
  }

  /// The largest document, in bytes.
  private static let largest = 1 << 20

  let path: String

  /// All versions, the first one among them.
  ///
  /// - Parameter path: The folder; nil where there is none, so that there is the first version alone.
  /// - Throws: ``Fault``.
  static func catalogues(_ path: String?) throws(Fault) -> StepCatalogues {
    var all: StepCatalogues
    do throws(StepCatalogue.Fault) { all = try StepCatalogues(.first()) } catch { throw Fault(description: "\(error)") }
    guard let path else { return all }
    let folder = StepsFolder(path: path)
    var later: [StepCatalogue] = []
    for name in try folder.names() {
      let document = try folder.document(name)
      do throws(StepCatalogue.Fault) {
        later.append(try StepCatalogue(document))
        // With each, so that the fault is that of the document that comes second.
        all = try StepCatalogues(.first(), later)
      } catch { throw Fault(description: "\(name): \(error)") }
    }
    return all
  }

  /// The names of the documents, in their order.
  private func names() throws(Fault) -> [String] {
    guard let folder = opendir(path) else { throw Fault(description: "the folder cannot be read: \(Self.reason)") }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      // What begins with a dot is an editor's, or a mounted volume's.
      if name.hasSuffix(".json"), !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  private func document(_ name: String) throws(Fault) -> JSONValue {
    guard let file = fopen("\(path)/\(name)", "re") else { throw Fault(description: "\(name): cannot be read: \(Self.reason)") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: Self.largest + 1)
    let count = fread(&bytes, 1, bytes.count, file)
    guard ferror(file) == 0 else { throw Fault(description: "\(name): cannot be read: \(Self.reason)") }
    guard count <= Self.largest else { throw Fault(description: "\(name): more than \(Self.largest) bytes") }
    do { return try JSONParser.parse(Array(bytes.prefix(count))) } catch { throw Fault(description: "\(name): \(error)") }
  }

  private static var reason: String { String(cString: strerror(errno)) }
}
