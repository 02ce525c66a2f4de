// jose-testee: judges tokens with the verifier that the services use. Each line of standard input is a question in JSON, each
// line of standard output the answer to it, in the same order, written before the next line is read.

import Glibc

var lines = Lines(of: STDIN_FILENO)
while let line = lines.next() {
  let answer = Question.answer(toLine: line) + [UInt8(ascii: "\n")]
  var written = 0
  while written < answer.count {
    let step = answer[written...].withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    if step < 0, errno == EINTR { continue }
    guard step > 0 else { exit(1) }
    written += step
  }
}
