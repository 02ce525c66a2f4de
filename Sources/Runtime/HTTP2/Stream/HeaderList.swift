internal import CNghttp2
internal import Glibc

/// Header fields to send: built once where they are always the same, or for one message.
///
/// A list that lives as long as the process is `isStatic`: nghttp2 then reads names and values where they are instead of
/// copying them.
// SAFETY: written in `init` and `append` only, by the one owner; a static list is never written again.
package final class HeaderList: @unchecked Sendable {
  private(set) var fields: UnsafeMutablePointer<nghttp2_nv>
  /// How many fields there are.
  package private(set) var count = 0
  private var capacity: Int
  private let flags: UInt8

  /// An empty list; `isStatic` promises that the list outlives every connection.
  package init(capacity: Int = 8, isStatic: Bool = false) {
    self.capacity = capacity
    fields = .allocate(capacity: capacity)
    flags = isStatic ? UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue) : 0
  }

  /// A list of the given fields.
  package convenience init(_ list: KeyValuePairs<String, String>, isStatic: Bool = false) {
    self.init(capacity: max(1, list.count), isStatic: isStatic)
    for (name, value) in list { append(name, value) }
  }

  deinit {
    for index in 0..<count { free(fields[index].name) }
    fields.deallocate()
  }

  /// Adds a field; `name` is lower-case.
  package func append(_ name: String, _ value: String) {
    var (name, value) = (name, value)
    name.withUTF8 { name in value.withUTF8 { value in append(UnsafeRawBufferPointer(name), UnsafeRawBufferPointer(value)) } }
  }

  /// Adds a copy of a field.
  package func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if count == capacity { grow() }
    // One allocation holds name and value; one more byte, since malloc(0) may be null.
    let storage = malloc(name.count + value.count + 1)!.assumingMemoryBound(to: UInt8.self)
    if let base = name.baseAddress { memcpy(storage, base, name.count) }
    if let base = value.baseAddress { memcpy(storage + name.count, base, value.count) }
    (fields + count).initialize(
      to: nghttp2_nv(name: storage, value: storage + name.count, namelen: name.count, valuelen: value.count, flags: flags))
    count += 1
  }

  /// Adds copies of all fields of another list.
  package func append(contentsOf other: HeaderList) {
    other.forEach { append($0, $1) }
  }

  /// Calls `body` with the name and the value of each field, in order.
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    for index in 0..<count {
      let field = fields[index]
      body(
        UnsafeRawBufferPointer(start: field.name, count: field.namelen),
        UnsafeRawBufferPointer(start: field.value, count: field.valuelen))
    }
  }

  private func grow() {
    let larger = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: fields, count: count)
    fields.deallocate()
    fields = larger
    capacity *= 2
  }
}
