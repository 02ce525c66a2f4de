public import EventLoop

/// A recording of whoever's voice is to be cloned.
public struct VoiceSample: Sendable, Hashable {
  /// What the file is called.
  public let filename: String
  /// Its type: `audio/mp4`.
  public let mediaType: String
  /// The recording.
  public let bytes: [UInt8]

  /// A sample.
  ///
  /// - Parameters:
  ///   - filename: What the file is called, with its extension.
  ///   - mediaType: Its type.
  ///   - bytes: The recording.
  public init(filename: String, mediaType: String, bytes: [UInt8]) {
    self.filename = filename
    self.mediaType = mediaType
    self.bytes = bytes
  }
}

/// A voice that is to be cloned from recordings.
public struct NewVoice: Sendable {
  /// What it is to be called.
  public var name: String
  /// The recordings: one to two minutes of clean speech together are best.
  public var samples: [VoiceSample]
  /// The caller's id of the request, printable ASCII. ElevenLabs knows no repeated request by it: to find a voice whose making was not
  /// answered, give it a label of its own.
  public var requestID: String
  /// What it is for.
  public var description: String?
  /// Names and values to find it by.
  public var labels: [String: String] = [:]
  /// Whether noise is taken out of the recordings. It harms clean ones.
  public var removesBackgroundNoise = false
  /// How long it may take, instead of the setting.
  public var timeout: Duration?
  /// When the caller itself must have answered.
  public var deadline: MonotonicInstant?

  /// A voice; the rest is set on the value.
  ///
  /// - Parameters:
  ///   - name: What it is to be called.
  ///   - samples: The recordings, at least one.
  ///   - requestID: The caller's id of the request.
  public init(name: String, samples: [VoiceSample], requestID: String) {
    self.name = name
    self.samples = samples
    self.requestID = requestID
  }
}

/// A voice that was made.
public struct AddedVoice: Sendable, Hashable {
  /// Its id.
  public let id: String
  /// Whether somebody has to prove that it is theirs before it speaks.
  public let requiresVerification: Bool
}
