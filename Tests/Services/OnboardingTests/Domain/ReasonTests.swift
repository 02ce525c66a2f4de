import Audio
import MessagesCore
import OnboardingDomain
import ParleyAPI
import Testing

@Suite("Reasons of refusals")
struct ReasonTests {
  @Test("Every word for what is wrong with a recording has a reason that apps can read up")
  func recordings() {
    let urls: [DataURLError.Code] = [
      .notADataURL, .noComma, .headerTooLong, .invalidMediaType, .invalidParameter, .notBase64, .invalidBase64, .empty, .tooLarge,
    ]
    let intake = [
      "audio_empty", "audio_unknown_format", "audio_type_mismatch", "audio_too_large", "audio_unknown_reference",
      "audio_not_sent",
    ]
    for word in RecordingDamage.words.union(intake).union(urls.map { "audio_\($0)" }) {
      #expect(OnboardingErrorReason.descriptor.number(of: "ERROR_REASON_\(word.uppercased())") != nil, "\(word)")
    }
  }
}
