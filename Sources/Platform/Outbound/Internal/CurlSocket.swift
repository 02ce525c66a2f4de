internal import CCurl
internal import EventLoop

/// One of libcurl's sockets under watch on the loop.
final class CurlSocket: DescriptorHandler {
  let descriptor: Int32
  var watch: DescriptorWatch?
  private unowned let multi: CurlMulti

  init(_ descriptor: Int32, of multi: CurlMulti) {
    self.descriptor = descriptor
    self.multi = multi
  }

  func descriptorIsReady(_ readiness: Readiness) {
    var events: Int32 = 0
    if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
    if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
    if readiness.contains(.failed) { events |= CURL_CSELECT_ERR }
    multi.act(on: descriptor, events)
  }
}
