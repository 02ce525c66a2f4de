import JOSE
import JSON
import Multipart
import RPCServer

/// A voice that was cloned here.
struct ClonedVoice: Sendable {
  private static let maximumSampleSize = 10 << 20
  private static let maximumSamples = 25
  private static let fields: Set<String> = ["name", "files", "description", "labels", "remove_background_noise"]

  let name: String
  let description: String?
  let labels: JSONObject
  /// The SHA-256 of each sample.
  let samples: [String]
  let removesNoise: Bool

  /// Reads the form of `POST /v1/voices/add`, as strictly as can be.
  init(_ request: HTTPServerRequest) throws(ElevenLabsRefusal) {
    let form: MultipartBody
    do throws(MultipartError) {
      form = try MultipartBody(parsing: request.body, contentType: request.header("content-type") ?? "")
    } catch { throw .init(400, "validation_error", "invalid_form", "\(error)") }
    for part in form.parts where !Self.fields.contains(part.name) {
      throw .init(fields: [(part.name, "Extra inputs are not permitted")])
    }
    let missing = ["name", "files"].filter { form[$0] == nil }
    guard missing.isEmpty, let name = form["name"]?.text, !name.isEmpty else {
      throw .init(fields: (missing.isEmpty ? ["name"] : missing).map { ($0, "Field required") })
    }
    for field in Self.fields where field != "files" && form.all(field).count > 1 {
      throw .init(fields: [(field, "Input should come once")])
    }
    let files = form.all("files")
    guard files.count <= Self.maximumSamples else {
      throw .init(400, "validation_error", "too_many_samples", "At most \(Self.maximumSamples) samples.")
    }
    for file in files {
      guard file.filename?.isEmpty == false, file.mediaType?.hasPrefix("audio/") == true, !file.bytes.isEmpty else {
        throw .init(400, "validation_error", "invalid_content", "A sample is no audio file.")
      }
      guard file.bytes.count <= Self.maximumSampleSize else {
        throw .init(413, "validation_error", "file_too_large", "A sample has more than \(Self.maximumSampleSize) bytes.")
      }
    }
    var labels: JSONObject = [:]
    if let text = form["labels"] {
      guard let object = try? JSONParser.parse(Array(text.bytes)).object, object.allSatisfy({ $0.value.string != nil }) else {
        throw .init(400, "validation_error", "invalid_labels", "Labels are no JSON object of strings.")
      }
      labels = object
    }
    let noise = form["remove_background_noise"]?.text
    guard noise == nil || noise == "true" || noise == "false" else {
      throw .init(fields: [("remove_background_noise", "Input should be a valid boolean")])
    }
    self.name = name
    description = form["description"]?.text
    self.labels = labels
    samples = files.map { Hexadecimal.text(SHA256.digest(Array($0.bytes))) }
    removesNoise = noise == "true"
  }

  /// The hash of all samples together.
  var hash: String {
    samples.count == 1 ? samples[0] : Hexadecimal.text(SHA256.digest(Array(samples.joined(separator: "\n").utf8)))
  }

  /// The voice as the API shows it.
  func document(_ id: String, requiresVerification: Bool) -> JSONValue {
    [
      "voice_id": .string(id), "name": .string(name), "category": "cloned",
      "description": description.map { .string($0) } ?? .null, "labels": .object(labels),
      "samples": .array(samples.enumerated().map { ["sample_id": .string("\(id)-\($0)"), "hash": .string($1)] }),
      "preview_url": .null,
      "voice_verification": ["requires_verification": .bool(requiresVerification), "is_verified": false],
    ]
  }
}
