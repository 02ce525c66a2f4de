/// A store that may hold secrets: nobody but the person's own apps can read what is in it.
public protocol TokenStore: KeyValueStore {}

/// Why a store of tokens did not do what it was asked.
public typealias TokenStoreError = KeyValueStoreError

/// Keeps tokens in files that only their owner can read.
public typealias FileTokenStore = FileKeyValueStore

/// Keeps tokens as long as the process lives.
public typealias MemoryTokenStore = MemoryKeyValueStore

extension FileKeyValueStore: TokenStore {}
extension MemoryKeyValueStore: TokenStore {}
