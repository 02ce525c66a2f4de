import Foundation
import Testing

/// The rule of floors: a target imports only what lies on floors below it, and its own floor's targets.
@Suite("Target graph") struct TargetGraphTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent()

  /// From the ground up. `API` and `Providers` share a floor; of the providers, only `Parley` imports the API, whose services it
  /// asks, and all may import `OpenID`, which knows no provider.
  private static let floors = ["C", "Runtime", "Platform", "API", "Services", "Client", "Executables"]

  private struct Place: Equatable {
    let floor: Int
    let room: String
  }

  /// Where a file lies: its floor, and the room there that its imports are judged by.
  private static func place(_ path: String) -> Place? {
    let parts = path.split(separator: "/").map(String.init)
    guard let first = parts.first, parts.count > 1 else { return nil }
    let name = first == "Providers" ? "API" : first
    guard let floor = floors.firstIndex(of: name) else { return nil }
    return Place(floor: floor, room: first == "API" || parts.count < 3 ? first : "\(first)/\(parts[1])")
  }

  /// The modules of the package with where they are, from the manifest.
  private static func modules() throws -> [String: Place] {
    let manifest = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
    var modules: [String: Place] = [:]
    for match in manifest.matches(of: /(?:floor\(\s*"(?<path>[^"]+)",\s*"(?<name>[^"]+)")|(?:library\("(?<library>C\w+)")/) {
      if let path = match.path, let name = match.name {
        modules[String(name)] = place("\(path)/x/x")
      } else if let library = match.library {
        modules[String(library)] = place("C/\(library)/x")
      }
    }
    modules["CShims"] = place("C/CShims/x")
    return modules
  }

  private static func imports() throws -> [(file: String, module: String)] {
    let sources = root.appending(path: "Sources")
    let files = FileManager.default.enumerator(atPath: sources.path)?.compactMap { $0 as? String } ?? []
    return try files.filter { $0.hasSuffix(".swift") }.flatMap { file in
      let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
      return text.matches(
        of:
          /(?m)^(?:@\w+ )*(?:(?:public|package|internal|private|fileprivate) )?import (?:struct |enum |class |protocol |func )?(\w+)/
      )
      .map { (file, String($0.1)) }
    }
  }

  @Test("No file imports a floor above its own, and no service another service")
  func floorsAreKept() throws {
    let modules = try Self.modules()
    #expect(modules.count > 15)
    var judged = 0
    for (file, module) in try Self.imports() {
      guard let target = modules[module], let here = Self.place(file) else { continue }
      judged += 1
      #expect(target.floor <= here.floor, "\(file) imports \(module), which lies above it")
      let needsOneRoom = Self.floors[here.floor] == "Services" || Self.floors[here.floor] == "API"
      let isOffered =
        here.room.hasPrefix("Providers/") && target.room == "Providers/OpenID"
        || here.room == "Providers/Parley" && target.room == "API"
      if target.floor == here.floor && needsOneRoom && !isOffered {
        #expect(target.room == here.room, "\(file) imports \(module) from another room of its floor")
      }
    }
    #expect(judged > 300)
  }

  @Test("The generated API imports nothing but messages and call types")
  func apiIsPure() throws {
    let allowed: Set = ["MessagesCore", "RPC", "WellKnown"]
    let imports = try Self.imports().filter { $0.file.hasPrefix("API/") }
    #expect(!imports.isEmpty)
    for (file, module) in imports { #expect(allowed.contains(module), "\(file) imports \(module)") }
  }

  @Test("A domain does no input or output: of the house it imports values alone, and values import nothing")
  func domainsArePure() throws {
    let modules = try Self.modules()
    for (file, module) in try Self.imports() where file.contains("/Domain/") {
      #expect(modules[module] == nil || module == "Values", "\(file) imports \(module)")
    }
    for (file, module) in try Self.imports() where file.hasPrefix("Platform/Values/") {
      Issue.record("\(file) imports \(module)")
    }
  }

  @Test("What clients elsewhere share reaches no system library")
  func sharedFloorsAreFreeOfC() throws {
    for (file, module) in try Self.imports()
    where ["Runtime/JSON/", "Runtime/Buffers/", "Runtime/MessagesCore/", "Runtime/RPC/", "Runtime/WellKnown/"].contains(
      where: file.hasPrefix)
    {
      #expect(!module.hasPrefix("C") || module == "Client", "\(file) imports \(module)")
    }
  }

  /// The targets that each target of `Sources` names in the manifest, products of other packages by the name of their constant.
  private static func dependencies() throws -> [String: Set<String>] {
    let manifest = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
    var dependencies: [String: Set<String>] = [:]
    for match in manifest.matches(of: /floor\(\s*"[^"]+",\s*"(?<name>[^"]+)"(?:,\s*\[(?<list>[^\]]*)\])?/) {
      let names = (match.list ?? "").split { ",\n ".contains($0) }.map { $0.filter { $0 != "\"" } }
      dependencies[String(match.name)] = Set(names.filter { !$0.isEmpty })
    }
    return dependencies
  }

  @Test("ClientCore reaches no C target, no system library and no package: it builds where only Swift and Foundation are")
  func clientCoreIsPure() throws {
    let declared = try Self.dependencies()
    let targets = try Self.modules()
    #expect(declared["MessagesWire"]?.isSuperset(of: ["CProtobufC", "CShims"]) == true, "the manifest is read as it should be")
    var reached: Set = ["ClientCore"]
    var open = ["ClientCore"]
    while let target = open.popLast() {
      let names = try #require(declared[target], "\(target) is no target of Sources with dependencies of its own")
      for name in names {
        #expect(targets[name] != nil, "\(target) depends on \(name), which is no target of this package")
        #expect(targets[name]?.floor != Self.floors.firstIndex(of: "C"), "\(target) depends on \(name)")
        if reached.insert(name).inserted, declared[name] != nil { open.append(name) }
      }
    }
    #expect(
      reached.isSuperset(of: ["MessagesCore", "RPC", "ConnectWire"]) && reached.isDisjoint(with: ["MessagesWire", "HTTP2"]))
    // What a file imports without saying so in the manifest counts as well.
    let ours = try Self.imports().filter { $0.file.hasPrefix("Client/ClientCore/") }
    #expect(ours.count > 10)
    let system: Set = ["Foundation", "FoundationNetworking", "Security", "Synchronization"]
    for (file, module) in ours { #expect(reached.contains(module) || system.contains(module), "\(file) imports \(module)") }
  }
}
