internal import Idempotency
internal import Pages
public import PostgreSQL

/// The steps of the schema `auth`, oldest first.
public enum AuthMigrations {
  /// The schema.
  public static let schema = "auth"

  /// All of them. A released one never changes.
  public static let all: [Migration] = [
    Migration(1, "create_broker_tables", createBrokerTables), Migration(2, "create_account_tables", createAccountTables),
    Migration(3, "create_signing_keys", createSigningKeys),
    Migration(4, "create_broker_ledger", createBrokerLedger), Migration(5, "create_entitlements", createEntitlements),
    Migration(6, "add_operators", addOperators),
    Migration(7, "create_provider_grants", createProviderGrants), Migration(8, "create_jobs", createJobs),
    Migration(9, "create_idempotency", IdempotencyMigration.create(schema: schema, role: "parley_auth")),
    Migration(10, "create_account_work", createAccountWork), Migration(11, "hold_jobs", holdJobs),
    Migration(12, "create_page_key", PageKeyMigration.create(schema: schema, role: "parley_auth")),
  ]
}
