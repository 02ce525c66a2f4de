extension ClientChannel {
  /// What the channel is doing: the best that one of its loops does. May be asked from anywhere.
  ///
  /// It is only as good as the moment: to follow it, see ``ClientChannelEvents/stateChanged``.
  public var state: ChannelState { loops.map(\.state).max() ?? .closed }
}
