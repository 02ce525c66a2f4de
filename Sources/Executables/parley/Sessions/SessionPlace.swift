import ArgumentParser
import ClientCore
import ParleyAPI
import RPC

/// Where the command line keeps the session with one target. No target ever gets another one's tokens.
struct SessionPlace: Sendable {
  let store: FileTokenStore
  /// The entry of the store.
  let name: String

  /// The place for the target of a command.
  ///
  /// - Throws: `ValidationError` when there is no target, and where the environment names no folder for it.
  init(_ options: TargetOptions, _ local: LocalSettings) throws {
    let target = "\(try options.channelTarget(local))"
    store = FileTokenStore(folder: try Self.folder(local))
    name = "session-" + Self.name(of: target)
  }

  /// `$XDG_STATE_HOME/parley`, else `~/.local/state/parley`.
  static func folder(_ local: LocalSettings) throws -> String {
    if let state = local["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/parley" }
    guard let home = local["HOME"], home.hasPrefix("/") else {
      throw ValidationError("There is no place for the session: set XDG_STATE_HOME or HOME.")
    }
    return home + "/.local/state/parley"
  }

  /// A target as the name of a file: letters, digits, dots and dashes as they are, a checksum for the rest.
  static func name(of target: String) -> String {
    let plain = target.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "."), UInt8(ascii: "-"):
        byte
      default: UInt8(ascii: "_")
      }
    }
    // FNV-1a over the whole of it: two targets that look the same here have names of their own.
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in target.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return "\(String(decoding: plain.prefix(60), as: UTF8.self))-\(String(sum, radix: 16))"
  }

  /// Whether somebody is signed in there.
  var hasSession: Bool { (try? store.load(name)) != nil }

  /// Removes the tokens.
  func forget() throws { try store.remove(name) }

  /// The session, for as long as a connection is there.
  func keeper(_ connection: Connection, app: String = "") -> SessionKeeper {
    SessionKeeper(
      channel: connection.channel, store: store,
      options: .init(app: app, name: name, timeout: min(connection.deadline.timeLeft, .seconds(30))))
  }

  /// The account's methods in the name of the session.
  func auth(_ connection: Connection) -> AuthService.Client {
    AuthService.Client(SessionChannel(connection.channel, keeper: keeper(connection)))
  }
}
