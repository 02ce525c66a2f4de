import TestRandom

/// Changes inputs that are frames behind a few bytes of options, and leaves them frames: lengths fit, message prefixes mostly too.
struct FrameMutator {
  /// How many bytes of options stand in front.
  let optionBytes: Int
  /// What the peer would say in a real exchange, for a stream.
  let templates: [@Sendable (UInt32) -> [Frame]]

  func mutate(_ data: UnsafeMutablePointer<UInt8>, size: Int, room: Int, random: inout SeededRandom) -> Int {
    // Now and then the bytes as they are: broken lengths and half frames are attacks as well.
    guard size > optionBytes, random.below(12) != 0 else { return libFuzzerMutate(data, size, room) }
    var options = Array(UnsafeBufferPointer(start: data, count: optionBytes))
    var frames = Frame.parse(Array(UnsafeBufferPointer(start: data + optionBytes, count: size - optionBytes)))
    for _ in 0...random.below(3) { change(&frames, &options, room: room, random: &random) }
    let bytes = options + frames.flatMap(\.bytes)
    let count = min(bytes.count, room)
    for index in 0..<count { data[index] = bytes[index] }
    return count
  }

  private func change(_ frames: inout [Frame], _ options: inout [UInt8], room: Int, random: inout SeededRandom) {
    guard !frames.isEmpty else { return insert(&frames, &random) }
    let index = random.below(frames.count)
    switch random.below(16) {
    case 0...4: frames[index].payload = changed(frames[index].payload, extra: 64)
    case 5: changeMessage(&frames[index], &random)
    case 6: changeHead(&frames[index], &random)
    case 7: frames.insert(frames[index], at: random.below(frames.count + 1))
    case 8: frames.remove(at: index)
    case 9: frames.swapAt(index, random.below(frames.count))
    case 10...12: insert(&frames, &random)
    case 13: split(&frames, index, &random)
    case 14: joinStream(&frames, index, &random)
    default: options[random.below(options.count)] = UInt8(truncatingIfNeeded: random.next())
    }
  }

  private func insert(_ frames: inout [Frame], _ random: inout SeededRandom) {
    let highest = frames.map { $0.stream & 0x7fff_ffff }.max() ?? 0
    let stream: UInt32 =
      random.below(3) == 0 && highest > 0 ? UInt32(random.below(Int(min(highest, 64))) | 1) : (highest &+ 1) | 1
    let made = templates[random.below(templates.count)](stream)
    frames.insert(contentsOf: made, at: random.below(3) == 0 ? random.below(frames.count + 1) : frames.count)
  }

  /// Another message in an envelope whose length fits.
  private func changeMessage(_ frame: inout Frame, _ random: inout SeededRandom) {
    guard frame.type == Frame.data, frame.payload.count >= 5 else { return frame.payload = changed(frame.payload, extra: 64) }
    let message = changed(Array(frame.payload[5...]), extra: 64)
    frame.payload = [frame.payload[0]] + Frame.number(UInt32(message.count)) + message
    if random.below(8) == 0 { frame.payload[0] = [0, 1, 2, 3, 0x80, 0x81][random.below(6)] }
  }

  private func changeHead(_ frame: inout Frame, _ random: inout SeededRandom) {
    switch random.below(4) {
    case 0: frame.type = UInt8(random.below(12))
    case 1: frame.flags ^= UInt8(1 << random.below(6))
    case 2: frame.flags = [0, 1, 4, 5, 8, 9, 0x20, 0x24, 0x25, 0x2d][random.below(10)]
    default: frame.stream = [0, 1, 2, 3, 5, 7, 9, 11, 0x7fff_ffff, 0x8000_0001][random.below(10)]
    }
  }

  /// One frame becomes two: DATA in parts, a header list with CONTINUATION.
  private func split(_ frames: inout [Frame], _ index: Int, _ random: inout SeededRandom) {
    var first = frames[index]
    guard first.payload.count > 1 else { return }
    let place = 1 + random.below(first.payload.count - 1)
    var second = first
    second.payload = Array(first.payload[place...])
    first.payload = Array(first.payload[..<place])
    if first.type == Frame.headers {
      second.type = Frame.continuation
      second.flags = first.flags & Frame.endHeaders
      first.flags &= ~Frame.endHeaders
    } else {
      first.flags &= ~Frame.endStream
    }
    frames[index] = first
    frames.insert(second, at: index + 1)
  }

  /// A frame takes part in another one's stream.
  private func joinStream(_ frames: inout [Frame], _ index: Int, _ random: inout SeededRandom) {
    frames[index].stream = frames[random.below(frames.count)].stream
  }

  private func changed(_ bytes: [UInt8], extra: Int) -> [UInt8] {
    let room = bytes.count + extra
    return [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      guard let base = buffer.baseAddress else { return }
      for (index, byte) in bytes.enumerated() { base[index] = byte }
      count = libFuzzerMutate(base, bytes.count, room)
    }
  }
}
