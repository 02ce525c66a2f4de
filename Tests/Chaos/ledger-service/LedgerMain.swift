internal import ServiceKit

/// `parley-ledger`, which crash and fault runs write to.
@main struct LedgerMain: ServiceCommand {
  static let service = LedgerService.self
}
