// protoc-gen-parley: a plug-in of the protocol buffer compiler that writes Swift.
// protoc runs it with a CodeGeneratorRequest on standard input and reads a CodeGeneratorResponse from standard output.

import Glibc
import MessagesCore
import MessagesWire
import WellKnown

var input: [UInt8] = []
var chunk = [UInt8](repeating: 0, count: 1 << 16)
while true {
  let count = read(STDIN_FILENO, &chunk, chunk.count)
  guard count > 0 else { break }
  input += chunk[..<count]
}

do {
  // The request holds the descriptors of every import: many small messages, from a compiler that we trust.
  let limits = DecodeLimits(memoryPerByte: 64, memoryFloor: 16 << 20)
  let request = try GoogleProtobufCompiler.CodeGeneratorRequest(protobuf: input, limits: limits)
  let output = try Generator(request: request).response().protobufBytes()
  var written = 0
  while written < output.count {
    let count = output[written...].withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    guard count > 0 else { exit(1) }
    written += count
  }
} catch {
  let text = "protoc-gen-parley: \(error)\n"
  _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  exit(1)
}
