import ArgumentParser
import DynamicMessages
import JSON
import MessagesCore
import RPC

/// How a failed call is told, to people and to programs.
struct ErrorReport {
  let error: RPCError

  /// 69 (EX_UNAVAILABLE) when the service could not be reached or cannot answer now, else 1.
  var exitCode: ExitCode { ExitCode(error.code == .unavailable ? 69 : 1) }

  /// A line for people, and what to do.
  var text: String {
    var text = "parley: \(error.code.name)" + (error.reason.map { " (\(Printable.text($0)))" } ?? "")
    text += ": \(Printable.text(error.message))"
    if let wait = error.retryAfter { text += "\n        try again in \(wait.components.seconds) s" }
    for case .badRequest(let violations) in error.details {
      for violation in violations { text += "\n        \(Printable.text("\(violation.field): \(violation.description)"))" }
    }
    return text
  }

  /// `{"error": {"code", "number", "message", "reason", "retryAfterSeconds", "details", "metadata"}}`
  var json: JSONValue {
    var object: JSONObject = [
      "code": .string(error.code.name), "number": .number(JSONNumber(error.code.rawValue)), "message": .string(error.message),
    ]
    object["reason"] = error.reason.map(JSONValue.string)
    object["retryAfterSeconds"] = error.retryAfter.flatMap { JSONNumber($0 / .seconds(1)) }.map(JSONValue.number)
    if !error.details.isEmpty { object["details"] = .array(error.details.map(Self.detail)) }
    if !error.metadata.isEmpty { object["metadata"] = .object(Self.metadata(error.metadata)) }
    return ["error": .object(object)]
  }

  private static func detail(_ detail: ErrorDetail) -> JSONValue {
    switch detail {
    case .errorInfo(let reason, let domain, let metadata):
      let members = metadata.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
      return [
        "type": "google.rpc.ErrorInfo", "reason": .string(reason), "domain": .string(domain),
        "metadata": .object(JSONObject(members)),
      ]
    case .retryInfo(let delay):
      return [
        "type": "google.rpc.RetryInfo", "retryDelaySeconds": JSONNumber(delay / .seconds(1)).map(JSONValue.number) ?? .null,
      ]
    case .badRequest(let violations):
      let fields = violations.map { ["field": .string($0.field), "description": .string($0.description)] as JSONValue }
      return ["type": "google.rpc.BadRequest", "fieldViolations": .array(fields)]
    case .other(let typeURL, let bytes):
      guard let value = value(typeURL, bytes) else {
        return ["type": .string(typeURL), "base64": .string(MetadataBase64.encode(bytes))]
      }
      return ["type": .string(typeURL), "value": value]
    }
  }

  /// A detail of a type that is compiled in.
  private static func value(_ typeURL: String, _ bytes: [UInt8]) -> JSONValue? {
    let name = typeURL.split(separator: "/").last.map(String.init) ?? ""
    guard let message = try? KnownMethods.types.message(name),
      let json = try? message.jsonBytes(wire: bytes, options: .init(registry: .init(KnownMethods.types)))
    else { return nil }
    return try? JSONParser.parse(json)
  }

  private static func metadata(_ metadata: Metadata) -> JSONObject {
    var object = JSONObject()
    for entry in metadata.entries {
      switch entry.value {
      case .text(let text): object[entry.name] = .string(text)
      case .binary(let bytes): object[entry.name] = .string(MetadataBase64.encode(bytes))
      }
    }
    return object
  }
}
