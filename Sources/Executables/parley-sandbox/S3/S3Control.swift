import Blobs
import JOSE
import JSON
import RPCServer

/// What steers the bucket of the sandbox.
struct S3Control: Sendable {
  let s3: S3StandIn
  let control: ControlRoutes

  var routes: [HTTPRoute] {
    [
      control.route("/sandbox/s3/objects", ["GET": { _ in .json(objects) }, "DELETE": empty]),
      control.route("/sandbox/s3/access", ["GET": { _ in .json(Self.access) }]),
    ]
  }

  /// `{"objects": [{"key", "size", "type", "sha256", "puts"}]}`, in the order of keys.
  private var objects: JSONValue {
    let objects = s3.objects.sorted { $0.key < $1.key }.map { key, object -> JSONValue in
      [
        "key": .string(key), "size": .number(JSONNumber(object.body.count)), "type": .string(object.type),
        "sha256": .string(Hexadecimal.text(SHA256.digest(object.body))), "puts": .number(JSONNumber(object.puts)),
      ]
    }
    return ["objects": .array(objects)]
  }

  /// What a service under test is set up with, beside the address.
  private static var access: JSONValue {
    [
      "bucket": .string(S3StandIn.bucket), "region": .string(S3StandIn.region),
      "accessKeyId": .string(S3StandIn.credentials.accessKey), "secretAccessKey": .string(S3StandIn.credentials.secretKey),
    ]
  }

  private func empty(_ request: HTTPServerRequest) -> HTTPServerResponse {
    s3.reset()
    return .json(objects)
  }
}
