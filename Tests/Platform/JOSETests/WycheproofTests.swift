import Foundation
import JOSE
import JSON
import Testing

/// The project's own copy-free use of the C2SP Wycheproof vectors: read where they lie beside the package.
enum Wycheproof {
  struct Vector: Sendable, CustomTestStringConvertible {
    let file: String
    let id: Int64
    let comment: String
    let token: String
    let isLabelledValid: Bool
    let keySet: [UInt8]

    var testDescription: String { "\(file) \(id) \(comment)" }
  }

  /// Tests/Platform/JOSETests/<this file>, four steps below the package's root.
  static let folder: String = {
    var path = #filePath.split(separator: "/").dropLast(4)
    path.append(contentsOf: ["..", "shared", "vectors", "wycheproof"])
    return "/" + path.joined(separator: "/")
  }()

  static let alternatives = [folder, folder.replacingOccurrences(of: "/../shared/", with: "/../../shared/")]

  static let directory = alternatives.first { FileManager.default.fileExists(atPath: $0) }

  static let vectors: [Vector] = {
    guard let directory else { return [] }
    return ["json_web_signature_test", "json_web_key_test", "json_web_crypto_test"].flatMap { file -> [Vector] in
      guard let data = FileManager.default.contents(atPath: "\(directory)/\(file).json"),
        let groups = (try? JSONParser.parse([UInt8](data)))?["testGroups"]?.array
      else { return [] }
      return groups.flatMap { vectors(of: $0, file: file) }
    }
  }()

  private static func vectors(of group: JSONValue, file: String) -> [Vector] {
    // Groups of shared secrets and of encryption have no public half; their keys must be dropped by the set.
    let key = group["public"] ?? group["private"] ?? .null
    let keySet = key["keys"] == nil ? JSONValue.object(["keys": [key]]) : key
    return (group["tests"]?.array ?? []).compactMap { test in
      guard let id = test["tcId"]?.int64, let token = test["jws"] ?? test["jwe"] else { return nil }
      return Vector(
        file: file, id: id, comment: test["comment"]?.string ?? "", token: token.string ?? token.description,
        isLabelledValid: test["result"] == "valid",
        keySet: keySet.encoded())
    }
  }

  static func verdict(_ vector: Vector) -> String {
    do {
      let keys = try JWKSet(parsing: vector.keySet)
      _ = try TokenVerifier.verifySignature(Array(vector.token.utf8), keys: keys, allowedAlgorithms: [.rs256, .es256])
      return "accepted"
    } catch let error as TokenError {
      return error.code.description
    } catch {
      return "\(error)"
    }
  }
}

@Suite(
  "Wycheproof", .enabled(if: Wycheproof.directory != nil, "the Wycheproof vectors do not lie beside the package"))
struct WycheproofTests {
  @Test("Every vector was found: 401 of signatures, 26 of keys, 83 of cryptography")
  func count() {
    #expect(Wycheproof.vectors.count { $0.file == "json_web_signature_test" } == 401)
    #expect(Wycheproof.vectors.count { $0.file == "json_web_key_test" } == 26)
    #expect(Wycheproof.vectors.count { $0.file == "json_web_crypto_test" } == 83)
  }

  @Test("Nothing labelled invalid is accepted, but for the keys with the ROCA weakness")
  func invalid() {
    let accepted = Wycheproof.vectors.filter { !$0.isLabelledValid && Wycheproof.verdict($0) == "accepted" }
    // No public library looks for that weakness in RSA moduli; the keys are well-formed otherwise.
    #expect(accepted.map { "\($0.file) \($0.id)" } == ["json_web_key_test 7", "json_web_crypto_test 46"])
  }

  @Test("What is labelled valid is accepted, but for other algorithms, empty payloads and characters outside base64url")
  func valid() {
    let refused = Wycheproof.vectors.filter { $0.isLabelledValid && Wycheproof.verdict($0) != "accepted" }
    let verdicts = Dictionary(grouping: refused, by: Wycheproof.verdict).mapValues(\.count)
    // 41 tokens of other algorithms, some of them with faults of form besides, and 2 encrypted ones; one of RS256 with nothing in
    // the middle; one whose header cannot be read for a `?` in it.
    #expect(verdicts == ["algorithm_not_allowed": 43, "part_empty": 1, "base64_invalid": 1])
    let misspelled = refused.filter { Wycheproof.verdict($0) == "base64_invalid" }
    #expect(misspelled.map(\.id) == [372])
    #expect(misspelled.allSatisfy { $0.token.contains("?") })
  }
}
