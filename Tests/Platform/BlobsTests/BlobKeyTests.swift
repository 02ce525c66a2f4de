import Blobs
import PostgreSQL
import Testing
import Values

@Suite("Names of blobs") struct BlobKeyTests {
  private static let owner = "0193a2f4-7d3c-7b1e-8c2d-1234567890ab"
  private static let digest = String(repeating: "0f", count: 32)

  @Test("A name is its owner and its digest, and reads back as itself")
  func roundTrip() throws {
    let key = try #require(BlobKey("\(Self.owner)/\(Self.digest)"))
    #expect(key.description == "\(Self.owner)/\(Self.digest)" && key.owner == UUID(Self.owner))
    #expect(key == BlobKey(owner: key.owner, digest: key.digest))
  }

  @Test(
    "What is not exactly a name is none",
    arguments: [
      "", "/", owner, "\(owner)/", "\(owner)/\(digest)0", "\(owner)/\(digest.dropLast())", "\(owner)/\(digest)/",
      "\(owner.uppercased())/\(digest)", "\(owner)/\(digest.uppercased())", "../\(digest)", "\(owner)/../../etc/passwd",
      "\(owner)/\(String(repeating: "0g", count: 32))",
    ])
  func refused(text: String) { #expect(BlobKey(text) == nil) }

  @Test("A digest has 32 bytes", arguments: [0, 31, 33])
  func length(count: Int) throws {
    let owner = try #require(UUID(Self.owner))
    #expect(BlobKey(owner: owner, digest: [UInt8](repeating: 0, count: count)) == nil)
  }
}
