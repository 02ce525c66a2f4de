import ArgumentParser
import Blobs

/// `parley-sandbox bucket`: asks a bucket as the services do, for tests and for whoever sets one up.
struct BucketCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bucket",
    abstract: "Ask a bucket of S3, R2 or what speaks like them, by the services' own code.",
    discussion: """
      The key is read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Names are {owner}/{sha256}, beneath the prefix. It exits \
      with 0, with 1 for a name that is not there, and with 2 for what went wrong, which it says on standard error.
      """,
    subcommands: [Put.self, Head.self, Get.self, List.self, Link.self, Delete.self, Sign.self])

  struct Put: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Store a file, and print its name.")
    @OptionGroup var place: BucketPlace
    @Option(help: "Whose it is: a UUID.") var owner: OwnerArgument
    @Option(help: "Its media type.") var type = "application/octet-stream"
    @Argument(help: "The file.") var file: String

    func run() throws {
      try place.run { store, pool in
        let content = try await BlobContent(file: file, pool: pool)
        let key = try await ContentName.key(of: content, owner: owner.id)
        try await store.put(key, content, type: type)
        return .text("\(key)\n")
      }
    }
  }

  struct Head: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print size and type.")
    @OptionGroup var place: BucketPlace
    @Argument(help: "The name.") var name: KeyArgument

    func run() throws {
      try place.run { store, _ in try await store.facts(name.key).map { .text("\($0.size) \($0.type)\n") } ?? .absent }
    }
  }

  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the content, or a part of it.")
    @OptionGroup var place: BucketPlace
    @Option(help: "The first byte.") var first: Int64?
    @Option(help: "The last byte.") var last: Int64?
    @Argument(help: "The name.") var name: KeyArgument

    func validate() throws {
      guard (first ?? 0) <= (last ?? .max) else { throw ValidationError("The first byte is not behind the last.") }
    }

    func run() throws {
      let range = first == nil && last == nil ? nil : (first ?? 0)...(last ?? .max)
      try place.run { store, _ in
        do {
          try await store.read(name.key, range: range) { _, reader in
            while let piece = try await reader.next() { BucketOutput.write(piece) }
          }
          return .done
        } catch let error as BlobError where error.code == .notFound {
          return .absent
        }
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the names of a person's blobs.")
    @OptionGroup var place: BucketPlace
    @Option(help: "How many are asked for at once.") var page = 1_000
    @Argument(help: "Whose: a UUID.") var owner: OwnerArgument

    func run() throws {
      try place.run { store, _ in
        var last: BlobKey?
        while true {
          let keys = try await store.keys(of: owner.id, after: last, atMost: page)
          guard let end = keys.last else { return .done }
          for key in keys { BucketOutput.write(Array("\(key)\n".utf8)) }
          last = end
        }
      }
    }
  }

  struct Link: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print a URL that lets anybody read, or store by PUT, for a while.")
    @OptionGroup var place: BucketPlace
    @Flag(help: "For storing.") var upload = false
    @Option(help: "How long: 1 to 900 seconds.") var seconds = 900
    @Argument(help: "The name.") var name: KeyArgument

    func run() throws {
      try place.run { store, _ in
        .text("\(try store.link(name.key, for: upload ? .upload : .download, lifetime: .seconds(seconds)))\n")
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Remove a blob, or all of a person's.")
    @OptionGroup var place: BucketPlace
    @Option(help: "Whose blobs are removed, all of them.") var all: OwnerArgument?
    @Argument(help: "The name.") var name: KeyArgument?

    func validate() throws {
      guard (all == nil) != (name == nil) else { throw ValidationError("A name, or --all with whose.") }
    }

    func run() throws {
      try place.run { store, _ in
        if let all { return .text("\(try await store.deleteAll(of: all.id))\n") }
        if let name { try await store.delete(name.key) }
        return .done
      }
    }
  }
}
