import ArgumentParser
import RPC

/// What goes with a call beside its messages.
struct SentMetadata: ParsableArguments {
  @Option(help: .init("Metadata to send; may be repeated. A name that ends in -bin takes base64.", valueName: "name=value"))
  var metadata: [MetadataArgument] = []
  @Option(help: .init("Send 'authorization: Bearer …': the token, @file, or '-' for standard input.", valueName: "token"))
  var bearer: SecretArgument?

  /// Whether the token comes from standard input.
  var readsStandardInput: Bool { bearer?.source == .standardInput }

  /// The metadata, once the token has been read.
  func read() throws -> Metadata {
    var sent = Metadata()
    for argument in metadata { sent.append(argument.entry) }
    if let bearer { sent.append("authorization", "Bearer \(try bearer.read())") }
    return sent
  }
}
