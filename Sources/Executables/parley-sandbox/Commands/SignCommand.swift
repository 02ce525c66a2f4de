import ArgumentParser
import Blobs
import Glibc
import JSON

extension BucketCommand {
  /// `parley-sandbox bucket sign`: what would be sent, for comparing it with what others would send.
  struct Sign: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sign the requests on standard input, and send nothing.",
      discussion: """
        One line for each: {"method","host","path","query":[[name,value]],"headers":[[name,value]],"payload","time"}, with "payload" \
        the SHA-256 of the body in hexadecimal or UNSIGNED-PAYLOAD and "time" in seconds since 1970; or with "expires" instead of \
        "payload" for a link. Printed is a line for each: {"headers":[[name,value]],"target"}.
        """)
    @Option(help: "The access key's name.") var accessKey: String
    @Option(help: "The secret key: for tests, since others can read arguments.") var secretKey: String
    @Option(help: "The token of temporary credentials.") var sessionToken: String?
    @Option(help: "The region.") var region = "auto"

    func run() throws {
      let signature = SignatureV4(
        .init(accessKey: accessKey, secretKey: secretKey, sessionToken: sessionToken), region: region)
      while let line = readLine() {
        let wanted = try JSONParser.parse(Array(line.utf8))
        BucketOutput.write(try Self.answer(wanted, signature).encoded() + Array("\n".utf8))
      }
    }

    private static func answer(_ wanted: JSONValue, _ signature: SignatureV4) throws -> JSONValue {
      guard let object = wanted.object, let method = object["method"]?.string, let host = object["host"]?.string,
        let path = object["path"]?.string, let time = object["time"]?.int64
      else { throw ValidationError("A line has \"method\", \"host\", \"path\" and \"time\".") }
      let request = SignatureV4.Request(
        method, host: host, path: [path], query: pairs(object["query"]), headers: pairs(object["headers"]))
      if let lifetime = object["expires"]?.int64 {
        return ["headers": [], "target": .string(signature.presigned(request, lifetime: lifetime, at: time))]
      }
      let headers = signature.headers(request, payload: object["payload"]?.string ?? SignatureV4.unsignedPayload, at: time)
      let query = request.query.isEmpty ? "" : "?\(SignatureV4.query(request.query))"
      return [
        "headers": .array(headers.map { .array([.string($0.name), .string($0.value)]) }),
        "target": .string(SignatureV4.path(request.path) + query),
      ]
    }

    private static func pairs(_ value: JSONValue?) -> [(name: String, value: String)] {
      (value?.array ?? []).compactMap { pair in
        guard let parts = pair.array, parts.count == 2, let name = parts[0].string, let value = parts[1].string else {
          return nil
        }
        return (name, value)
      }
    }
  }
}
