internal import EventLoop
internal import Glibc
internal import JSON
internal import Multipart
public import OpenID
internal import Outbound
internal import RPC

/// Makes, finds and removes voices at ElevenLabs.
///
/// Making one is never repeated here: the first attempt may have made it. Whoever lost the answer looks for the voice by its label
/// first (``voices(labelled:_:)``). Questions and removals are repeated where that may help, within their time.
public final class ElevenLabsClient: Sendable {
  private let settings: ElevenLabsSettings
  private let http: any HTTPSending
  private let unixSeconds: @Sendable () -> Int64

  /// A client.
  ///
  /// - Parameters:
  ///   - settings: Which account is asked, and how much it is sent.
  ///   - http: The way out.
  ///   - unixSeconds: The time of day, in seconds since 1970, for waits that are told as a date; nil for the machine's.
  public init(_ settings: ElevenLabsSettings, over http: any HTTPSending, unixSeconds: (@Sendable () -> Int64)? = nil) {
    self.settings = settings
    self.http = http
    self.unixSeconds = unixSeconds ?? { Int64(time(nil)) }
  }

  /// Clones a voice.
  ///
  /// - Throws: ``OpenID/ProviderError``; with ``OpenID/ProviderError/Code/tooLarge`` or
  ///   ``OpenID/ProviderError/Code/invalidRequest`` before anything is sent when there are more samples or bytes than the settings
  ///   allow, or none.
  public func addVoice(_ voice: NewVoice) async throws(ProviderError) -> AddedVoice {
    guard !voice.samples.isEmpty, voice.samples.allSatisfy({ !$0.bytes.isEmpty }), !voice.name.isEmpty else {
      throw ProviderError(.invalidRequest, reason: "empty")
    }
    guard voice.samples.count <= settings.maximumSamples,
      voice.samples.reduce(0, { $0 + $1.bytes.count }) <= settings.maximumUploadSize
    else { throw ProviderError(.tooLarge) }
    var form = MultipartForm()
    form.addField("name", voice.name)
    if let description = voice.description { form.addField("description", description) }
    if !voice.labels.isEmpty {
      let labels = voice.labels.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
      form.addField("labels", "\(JSONValue.object(JSONObject(labels)))")
    }
    form.addField("remove_background_noise", voice.removesBackgroundNoise ? "true" : "false")
    for sample in voice.samples {
      form.addFile("files", filename: sample.filename, mediaType: sample.mediaType, sample.bytes)
    }
    let content = form.encoded()
    var request = request(.post, "/v1/voices/add")
    request.headers["Content-Type"] = content.contentType
    request.headers["X-Client-Request-Id"] = voice.requestID
    request.body = content.body
    request.timeout = voice.timeout ?? settings.addTimeout
    request.deadline = voice.deadline
    request.retry = .never
    let response = try await send(request)
    let document = try? JSONParser.parse(response.body)
    guard let id = document?["voice_id"]?.string, !id.isEmpty, !id.utf8.contains(0) else { throw .malformed(response) }
    return AddedVoice(id: id, requiresVerification: document?["requires_verification"]?.bool ?? false)
  }

  /// Removes a voice.
  ///
  /// - Returns: Whether it was there.
  public func deleteVoice(_ id: String) async throws(ProviderError) -> Bool {
    do throws(ProviderError) {
      _ = try await send(request(.delete, Self.path(of: id)))
      return true
    } catch {
      guard error.code == .voiceNotFound else { throw error }
      return false
    }
  }

  /// All voices of the account, page by page.
  public func voices() async throws(ProviderError) -> [Voice] { try await voices(matching: nil) { _ in true } }

  /// The voices with that label.
  ///
  /// The account is searched for the value, so that what comes does not grow with the account, and what the search finds beside them is
  /// left out. The search looks into names, descriptions, labels and categories.
  ///
  /// - Parameters:
  ///   - name: The label's name.
  ///   - value: What it has to say.
  public func voices(labelled name: String, _ value: String) async throws(ProviderError) -> [Voice] {
    try await voices(matching: value) { $0.labels[name] == value }
  }

  /// The most voices that a page may have.
  private static let page = 100
  /// The most pages that are read. An account that has more, or a server whose pages do not end, is no answer.
  private static let mostPages = 1_000

  private func voices(
    matching search: String?, _ isWanted: (Voice) -> Bool
  ) async throws(ProviderError) -> [Voice] {
    var path = "/v2/voices?page_size=\(Self.page)"
    if let search { path += "&search=" + QueryEncoding.encode(search.utf8) }
    var (found, next): ([Voice], String?) = ([], nil)
    for _ in 0..<Self.mostPages {
      let response = try await send(
        request(.get, path + (next.map { "&next_page_token=" + QueryEncoding.encode($0.utf8) } ?? "")))
      guard let page = try? JSONParser.parse(response.body), let voices = page["voices"]?.array else {
        throw .malformed(response)
      }
      // The first page may repeat what every account has.
      found += voices.compactMap(Voice.init).filter { voice in isWanted(voice) && !found.contains { $0.id == voice.id } }
      guard page["has_more"]?.bool == true else { return found }
      guard let token = page["next_page_token"]?.string, !token.isEmpty, token != next else { throw .malformed(response) }
      next = token
    }
    throw ProviderError(.malformedAnswer, reason: "endless")
  }

  private static func path(of id: String) -> String { "/v1/voices/" + QueryEncoding.encode(id.utf8) }

  private func request(_ method: HTTPMethod, _ path: String) -> HTTPRequest {
    var request = HTTPRequest(method, settings.base + path, headers: ["xi-api-key": settings.key, "Accept": "application/json"])
    request.timeout = settings.timeout
    // A page has a hundred voices, with a few kilobytes each; one of somebody's with many samples has more.
    request.maximumResponseSize = 8 << 20
    request.retry = .interactive
    return request
  }

  private func send(_ request: HTTPRequest) async throws(ProviderError) -> HTTPResponse {
    let response: HTTPResponse
    do { response = try await http.send(request) } catch { throw ProviderError(error) }
    guard response.status == 200 else { throw ProviderError(response, unixSeconds: unixSeconds()) }
    return response
  }
}
