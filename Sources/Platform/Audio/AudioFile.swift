internal import Subprocess

/// A recording as the tools read it, as often as it takes: beside what this process has in memory itself.
public struct AudioFile: Sendable {
  let content: ProcessInput
  /// What its bytes are: ``AudioFormat/sniffed(from:)``.
  public let format: AudioFormat

  /// A file whose bytes are all here.
  ///
  /// - Throws: ``AudioError`` with ``AudioError/Code/toolFailed`` where the system has no room for it.
  public init(_ bytes: [UInt8], as format: AudioFormat) throws(AudioError) {
    var writer = AudioFileWriter()
    writer.append(bytes)
    self = try writer.file(as: format)
  }

  fileprivate init(content: ProcessInput, format: AudioFormat) {
    self.content = content
    self.format = format
  }
}

/// An ``AudioFile`` in the making, of bytes that come piece by piece.
public struct AudioFileWriter: ~Copyable, Sendable {
  private var content = ProcessInputWriter()

  /// Nothing yet.
  public init() {}

  /// Takes the next bytes.
  public mutating func append(_ bytes: [UInt8]) { content.append(bytes) }

  /// The file of what has come.
  ///
  /// - Throws: ``AudioError`` with ``AudioError/Code/toolFailed`` where the system had no room for it.
  public consuming func file(as format: AudioFormat) throws(AudioError) -> AudioFile {
    do throws(SubprocessError) { return AudioFile(content: try content.sealed(), format: format) } catch {
      throw AudioError(.toolFailed, detail: error.message)
    }
  }
}

/// A recording that is in this process's memory, and what its bytes are.
public struct AudioBytes: Sendable {
  /// All of it.
  public let bytes: [UInt8]
  /// What its bytes are: ``AudioFormat/sniffed(from:)``.
  public let format: AudioFormat

  /// A recording of these bytes.
  public init(_ bytes: [UInt8], as format: AudioFormat) {
    self.bytes = bytes
    self.format = format
  }
}
