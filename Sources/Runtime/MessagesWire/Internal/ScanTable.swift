/// What the pre-scan needs to know of one field.
struct ScanField {
  enum Kind: UInt8 {
    case scalar, text, bytes, message, messages
  }

  /// The number on the wire; 0 for an empty place in the dense table.
  var number: UInt32 = 0
  /// The wire types that the field may have, as a bit set.
  var wireTypes: UInt8 = 0
  var kind = Kind.scalar
  /// The bit that a singular sub-message sets when it is seen, to find one that comes twice.
  var seenBit: UInt8 = 0
  /// The oneof that it belongs to, as the offset of that oneof's case; 0 for none.
  var oneof: UInt32 = 0
  /// The table of the sub-message.
  var child: UnsafePointer<ScanTable>?
}

/// A message's fields as the pre-scan looks them up: small numbers by index, the others by bisection.
struct ScanTable {
  static let denseLimit: UInt32 = 128

  var dense: UnsafeMutablePointer<ScanField>
  var denseCount: UInt32
  var sparse: UnsafeMutableBufferPointer<ScanField>

  @inline(__always)
  func field(_ number: UInt32) -> UnsafePointer<ScanField>? {
    if number < denseCount {
      let field = UnsafePointer(dense + Int(number))
      return field.pointee.number == 0 ? nil : field
    }
    return sparse.isEmpty ? nil : bisect(number)
  }

  private func bisect(_ number: UInt32) -> UnsafePointer<ScanField>? {
    var low = 0
    var high = sparse.count
    while low < high {
      let middle = (low + high) / 2
      if sparse[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < sparse.count, sparse[low].number == number, let base = sparse.baseAddress else { return nil }
    return UnsafePointer(base + low)
  }
}
