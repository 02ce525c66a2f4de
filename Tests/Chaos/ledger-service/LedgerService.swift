internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import TestAPI

/// A service that writes with every call and promises what a client can check: an answered entry is committed, once.
enum LedgerService: Service {
  static let name = "ledger"
  static let configuration: [any ConfigurationKeyDeclaration] = []
  static let services: [ServiceDescriptor] = [TestAPI.LedgerService.descriptor]
  static let migrations = [Migration(1, "create_ledger", createLedger)]

  static func build(_ context: ServiceContext) async throws -> ServiceParts {
    ServiceParts(services: [TestAPI.LedgerService.routes(LedgerHandlers(store: LedgerStore(database: context.database)))])
  }

  private static let createLedger = #"""
    create table ledger.account (
      name text collate "C" primary key,
      balance bigint not null default 0
    );
    insert into ledger.account (name) select 'a' || number from generate_series(0, 7) as number;
    create table ledger.entry (
      key text collate "C" primary key,
      id uuid not null unique,
      debit text collate "C" not null references ledger.account,
      credit text collate "C" not null references ledger.account,
      amount bigint not null,
      memo text not null,
      posted_at timestamptz not null default now()
    );
    """#
}
