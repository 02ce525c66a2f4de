import DynamicMessages
import MessagesCore
import MessagesWire
import RPC
import WellKnown

/// Questions and answers on one reflection stream. What comes is bounded, whatever the server sends.
struct ReflectionSession {
  typealias Question = ReflectionClient.Request.MessageRequest
  typealias Answer = ReflectionClient.Response.MessageResponse

  /// The most bytes of files that one session takes.
  static let maximumBytes = 64 << 20
  /// The most files that one session asks for by name. Most servers send what a file imports along with it.
  static let maximumQuestions = 2_000

  private let stream: ClientStream<ReflectionClient.Request, ReflectionClient.Response>

  init(_ stream: ClientStream<ReflectionClient.Request, ReflectionClient.Response>) { self.stream = stream }

  /// One question and its answer.
  func ask(_ question: Question) async throws -> Answer {
    try await stream.send(.init(messageRequest: question))
    var responses = stream.responses
    guard let answer = try await responses.next()?.messageResponse else {
      throw RPCError(.internal, "the server's reflection gave no answer")
    }
    return answer
  }

  /// The file that declares a symbol, and what it imports as far as the pool does not have it; nil if there is no such symbol.
  func files(declaring symbol: String, in pool: DescriptorPool) async throws -> [GoogleProtobuf.FileDescriptorProto]? {
    let first = try await ask(.fileContainingSymbol(symbol))
    if case .errorResponse(let error) = first {
      // Servers that do not follow the protocol to the letter say INVALID_ARGUMENT, UNKNOWN and more.
      guard StatusCode(rawValue: Int(error.errorCode)) == .unavailable else { return nil }
      throw RPCError(.unavailable, error.errorMessage)
    }
    guard case .fileDescriptorResponse = first else { throw Self.unexpected(first) }
    var files: [String: GoogleProtobuf.FileDescriptorProto] = [:]
    var wanted: Set<String> = []
    var open: [String] = []
    var (bytes, questions) = (0, 0)
    var answer = first
    while true {
      // An import that the server does not have matters only if a type of it is needed, which then says so.
      if case .fileDescriptorResponse(let found) = answer {
        for serialized in found.fileDescriptorProto {
          bytes += serialized.count
          let file = try Self.file(serialized)
          files[file.name ?? ""] = file
          open += file.dependency.filter { wanted.insert($0).inserted }
        }
      }
      guard bytes <= Self.maximumBytes, files.count <= DescriptorPool.maximumFiles else {
        throw DescriptorError(.tooLarge, "the server sent more descriptors than any honest one has")
      }
      while let last = open.last, files[last] != nil || pool.hasFile(last) { open.removeLast() }
      guard let next = open.popLast() else { return files.values.filter { !pool.hasFile($0.name ?? "") } }
      questions += 1
      guard questions <= Self.maximumQuestions else {
        throw DescriptorError(.tooLarge, "the server's files import each other without end")
      }
      answer = try await ask(.fileByFilename(next))
    }
  }

  /// What to say of an answer to another question.
  static func unexpected(_ answer: Answer) -> RPCError {
    if case .errorResponse(let error) = answer {
      return RPCError(.unknown, "the server's reflection says: \(error.errorMessage)")
    }
    return RPCError(.internal, "the server's reflection answered another question")
  }

  private static func file(_ serialized: Bytes) throws -> GoogleProtobuf.FileDescriptorProto {
    do { return try GoogleProtobuf.FileDescriptorProto(protobuf: serialized) } catch {
      throw DescriptorError(.invalid, "the server sent a file that is no FileDescriptorProto: \(error)")
    }
  }
}
