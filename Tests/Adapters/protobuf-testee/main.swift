// protobuf-testee: what the public conformance suite of protocol buffers runs. It reads requests from standard input and writes
// an answer to each on standard output, until the input ends.

import Glibc
import JudgeAPI
import MessagesWire

var pipe = LengthPrefixedPipe(input: STDIN_FILENO, output: STDOUT_FILENO)
let testee = Testee()

do {
  while let bytes = try pipe.read() {
    try pipe.write(testee.answer(to: bytes).protobufBytes())
  }
} catch {
  let text = "protobuf-testee: \(error)\n"
  _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  exit(1)
}
