/// What kind of file a recording is, by its first bytes: what it is called has to agree. The services tell kinds by code of their own,
/// which this must not share.
struct RecordingKind {
  /// The endings of file names that it has.
  let endings: Set<String>
  /// Its types.
  let types: Set<String>

  /// The kind of a recording; nil for bytes that are none of these, which tests make up.
  init?(_ bytes: ArraySlice<UInt8>) {
    func begins(_ text: String, at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
    let start = Array(bytes.prefix(4))
    if begins("RIFF"), begins("WAVE", at: 8) {
      (endings, types) = (["wav"], ["audio/wav", "audio/x-wav", "audio/wave"])
    } else if begins("ftyp", at: 4) {
      (endings, types) = (["m4a", "mp4"], ["audio/mp4", "audio/m4a", "audio/x-m4a", "video/mp4"])
    } else if start == [0x1a, 0x45, 0xdf, 0xa3] {
      (endings, types) = (["webm"], ["audio/webm", "video/webm"])
    } else if begins("OggS") {
      (endings, types) = (["ogg", "oga"], ["audio/ogg"])
    } else if begins("fLaC") {
      (endings, types) = (["flac"], ["audio/flac", "audio/x-flac"])
    } else if begins("ID3") || start.count == 4 && start[0] == 0xff && [0xfb, 0xf3, 0xf2].contains(start[1]) {
      (endings, types) = (["mp3", "mpga", "mpeg"], ["audio/mpeg", "audio/mp3"])
    } else {
      return nil
    }
  }

  /// Whether a file is called what it is.
  func agrees(ending: String, type: String?) -> Bool { endings.contains(ending) && type.map(types.contains) == true }
}
