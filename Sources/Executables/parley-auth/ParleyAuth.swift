internal import AuthAPI
internal import ServiceKit

/// `parley-auth`.
@main struct ParleyAuth: ServiceCommand {
  static let service = AuthService.self
}
