import Audio

/// WAV files of plain PCM, which a service reads by itself.
final class WaveTarget: FuzzTarget {
  func run(_ input: UnsafeRawBufferPointer) {
    guard let sound = WaveSound(input) else { return }
    require(sound.data.lowerBound >= 44 && sound.data.upperBound <= input.count, "samples outside the file: \(sound)")
    require(sound.frames > 0 && sound.duration > .zero, "a sound without samples: \(sound)")
    require((1...WaveSound.mostChannels).contains(sound.channels) && (1...4).contains(sound.sampleBytes), "\(sound)")
    var count = 0
    sound.forEachSample(in: input) { _ in count += 1 }
    require(count == sound.frames, "\(count) samples of \(sound.frames)")
  }
}
