"""What we sign, judge and store in buckets, beside botocore and moto: who agrees with them agrees with S3."""

import calendar
import contextlib
import hashlib
import json
import os
import random
import time
import urllib.parse
import uuid

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bucket import Case
from ground import run
from stack import BINARIES

SEED = int(os.environ.get("PARLEY_SEED") or random.SystemRandom().randrange(1 << 32))
CHARACTERS = "abcXYZ019-_.~ +/=&?%:;,@!$'()*üß語😀"


class Wishes:
    """Random requests as botocore sees them before it signs."""

    def __init__(self, url, sent=False):
        self.url = url
        # HTTP/2 has no blanks at the end of a value (RFC 9113, 8.2.1): what is only signed may have some.
        self.values = ["v", "two  words", " around" if sent else " around ", "a,b"]
        self.random = random.Random(SEED)

    def text(self, least, most):
        return "".join(self.random.choice(CHARACTERS) for _ in range(self.random.randint(least, most)))

    def parts(self):
        """Path, query and header fields, as they are."""
        # No key begins with a slash or has a dot for a part: curl would have to be told, and no key of ours does.
        key = "k" + self.text(0, 30).replace("./", "_/").replace("//", "/")
        query = {f"q{number}{self.text(0, 4)}": self.text(0, 8) for number in range(self.random.randint(0, 3))}
        headers = {}
        for name in self.random.sample(["k", "k-two", "a", "kk"], self.random.randint(0, 3)):
            headers[f"x-amz-meta-{name}"] = self.random.choice(self.values)
        return f"parley-blobs/{key}", query, headers

    def next(self):
        method = self.random.choice(["PUT", "GET", "HEAD", "DELETE"])
        path, query, headers = self.parts()
        url = f"{self.url}/{urllib.parse.quote(path, safe='/-_.~')}"
        if query:
            url += "?" + "&".join(
                f"{urllib.parse.quote(name, safe='-_.~')}={urllib.parse.quote(value, safe='-_.~')}" for name, value in query.items())
        body = self.random.randbytes(self.random.randint(0, 2000)) if method == "PUT" else b""
        if method == "PUT" and self.random.random() < 0.7:
            headers["content-type"] = self.random.choice(["audio/mp4", "text/plain; charset=utf-8", "application/octet-stream"])
        request = AWSRequest(method=method, url=url, headers=headers, data=body)
        request.parley = {
            "method": method, "host": urllib.parse.urlsplit(url).netloc, "path": path, "query": list(query.items()),
            "headers": list(headers.items()), "payload": hashlib.sha256(body).hexdigest()}
        return request


def seconds(date):
    return calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ"))


class SigningTests(Case):
    def sign(self, wishes, credentials, region):
        """What our code would send for each."""
        command = [BINARIES / "parley-sandbox", "bucket", "sign", "--access-key", credentials.access_key, "--secret-key",
                   credentials.secret_key, "--region", region]
        if credentials.token:
            command += ["--session-token", credentials.token]
        lines = "".join(json.dumps(wish) + "\n" for wish in wishes)
        return [json.loads(line) for line in run(command, input=lines).splitlines()]

    def test_headers(self):
        """200 random requests are signed as botocore signs them, header by header, in the path and the query as well."""
        compared = 0
        for number, (host, region, token) in enumerate([
                ("https://0123.r2.cloudflarestorage.com", "auto", None), ("https://s3.eu-west-1.amazonaws.com", "eu-west-1", "a+b/c=="),
                ("http://127.0.0.1:9000", "us-east-1", None), ("https://store.internal:9443", "us-east-1", "token")]):
            credentials = Credentials("NAME" + str(number), "secret/+key", token)
            wishes = Wishes(host)
            wishes.random.seed(SEED + number)
            requests = [wishes.next() for _ in range(50)]
            for request in requests:
                S3SigV4Auth(credentials, "s3", region).add_auth(request)
                request.parley["time"] = seconds(request.headers["X-Amz-Date"])
            for request, ours in zip(requests, self.sign([request.parley for request in requests], credentials, region), strict=True):
                theirs = {name.lower(): value for name, value in request.headers.items()}
                mine = {name.lower(): value for name, value in request.parley["headers"] + ours["headers"]}
                self.assertEqual(sorted(mine), sorted(theirs), f"seed {SEED}")
                for name, value in theirs.items():
                    self.assertEqual(mine[name], value, f"{name} of {request.method} {request.url}, seed {SEED}")
                sent = urllib.parse.urlsplit(request.url)
                path, _, query = ours["target"].partition("?")
                self.assertEqual(path, sent.path)
                self.assertEqual(sorted(query.split("&")), sorted(sent.query.split("&")))
                compared += 1
        self.assertEqual(compared, 200)

    def test_links(self):
        """100 random links are made as botocore makes them."""
        credentials = Credentials("NAME", "secret", "token/+=")
        wishes = Wishes("https://s3.eu-west-1.amazonaws.com")
        requests = []
        for _ in range(100):
            wish = wishes.next()
            link = AWSRequest(method=wishes.random.choice(["PUT", "GET"]), url=wish.url)
            lifetime = wishes.random.randint(1, 900)
            S3SigV4QueryAuth(credentials, "s3", "eu-west-1", expires=lifetime).add_auth(link)
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(link.url).query))
            link.parley = {**wish.parley, "method": link.method, "headers": [], "expires": lifetime, "time": seconds(query["X-Amz-Date"])}
            requests.append(link)
        made = self.sign([request.parley for request in requests], credentials, "eu-west-1")
        for request, ours in zip(requests, made, strict=True):
            sent = urllib.parse.urlsplit(request.url)
            path, _, query = ours["target"].partition("?")
            self.assertEqual(path, sent.path)
            self.assertEqual(sorted(query.split("&")), sorted(sent.query.split("&")), f"{request.url}, seed {SEED}")


class JudgeTests(Case):
    """The sandbox's bucket takes what botocore signs, and nothing else."""

    def setUp(self):
        super().setUp()
        self.wishes = Wishes(self.ground.sandbox_url, sent=True)
        place = self.ground.own
        self.key = Credentials(place.environment["AWS_ACCESS_KEY_ID"], place.environment["AWS_SECRET_ACCESS_KEY"])
        self.addCleanup(self.ground.control, "/sandbox/s3/objects", method="DELETE")

    def send(self, requests):
        """The statuses of all requests, sent by curl over one connection."""
        lines = []
        for number, request in enumerate(requests):
            prepared = request.prepare()
            if number:
                lines.append("next")
            lines += [
                "silent", "max-time = 60", f'cacert = "{self.ground.ca}"', "http2", "path-as-is", f'url = "{prepared.url}"',
                f'output = "{os.devnull}"', 'write-out = "%{http_code}\\n"',
            ]
            if prepared.method == "HEAD":
                lines.append("head")
            else:
                lines.append(f'request = "{prepared.method}"')
            for name, value in prepared.headers.items():
                if name.lower() != "content-length":
                    value = value.decode() if isinstance(value, bytes) else value
                    lines.append(f'header = "{name}: {value}"')
            if prepared.method == "PUT":
                file = self.folder / f"body-{number}"
                file.write_bytes(prepared.body or b"")
                lines += [f'data-binary = "@{file}"'] + (
                    [] if "content-type" in {name.lower() for name in prepared.headers} else ['header = "Content-Type:"'])
        config = self.folder / "requests"
        config.write_text("\n".join(lines) + "\n")
        return [int(line) for line in run(["curl", "--config", config], seconds=240).split()]

    def test_header_signatures(self):
        """200 random requests that botocore has signed are judged right, and 40 of them wrong with one digit changed."""
        requests = [self.wishes.next() for _ in range(200)]
        for request in requests:
            S3SigV4Auth(self.key, "s3", "auto").add_auth(request)
        # What was never stored is absent, which is said to nobody whose signature is wrong.
        statuses = self.send(requests)
        self.assertEqual(len(statuses), 200)
        wrong = [f"{status} {request.method} {request.url} {dict(request.headers)}"
                 for status, request in zip(statuses, requests) if status not in (200, 204, 404)]
        self.assertEqual(wrong, [], f"seed {SEED}")
        for request in requests[:40]:
            field = request.headers["Authorization"]
            del request.headers["Authorization"]
            request.headers["Authorization"] = field[:-1] + ("0" if field[-1] != "0" else "1")
        self.assertEqual(set(self.send(requests[:40])), {403}, f"seed {SEED}")

    def test_links(self):
        """50 random links that botocore has made are judged right, and wrong for another method or with one digit changed."""
        requests = []
        for _ in range(50):
            request = AWSRequest(method=self.wishes.random.choice(["PUT", "GET"]), url=self.wishes.next().url)
            S3SigV4QueryAuth(self.key, "s3", "auto", expires=self.wishes.random.randint(300, 900)).add_auth(request)
            requests.append(AWSRequest(method=request.method, url=request.url))
        statuses = self.send(requests)
        wrong = [f"{status} {request.method} {request.url}" for status, request in zip(statuses, requests) if status not in (200, 404)]
        self.assertEqual(wrong, [], f"seed {SEED}")
        others = [AWSRequest(method="DELETE", url=request.url) for request in requests[:10]]
        changed = [AWSRequest(method=request.method, url=request.url[:-1] + ("0" if request.url[-1] != "0" else "1"))
                   for request in requests[10:20]]
        self.assertEqual(set(self.send(others + changed)), {403}, f"seed {SEED}")

    def test_clock(self):
        """A request that was signed 16 minutes ago is too old."""
        request = self.wishes.next()
        signer = S3SigV4Auth(self.key, "s3", "auto")
        request.context["timestamp"] = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - 960))
        signer._modify_request_before_signing(request)
        canonical = signer.canonical_request(request)
        signature = signer.signature(signer.string_to_sign(request, canonical), request)
        signer._inject_signature_to_request(request, signature)
        self.assertEqual(self.send([request]), [403])


class BucketTests:
    """The services' own code with a bucket."""

    #: How many blobs of one person are listed and removed.
    person = 5

    def setUp(self):
        super().setUp()
        self.bucket = self.place()
        self.owner = str(uuid.uuid4())

    def file(self, content):
        path = self.folder / uuid.uuid4().hex
        path.write_bytes(content)
        return path

    def put(self, content, owner=None, kind="audio/mp4"):
        return self.bucket.ask("put", "--owner", owner or self.owner, "--type", kind, self.file(content)).decode().strip()

    def test_round_trip(self):
        """What is stored is found, read whole and in parts, the same when it is stored again, and gone when it is removed."""
        content = random.Random(SEED).randbytes(3_000_001)
        name = f"{self.owner}/{hashlib.sha256(content).hexdigest()}"
        self.bucket.ask("head", name, expecting=1)
        self.bucket.ask("get", name, expecting=1)
        for _ in range(2):
            self.assertEqual(self.put(content), name)
        self.assertEqual(self.bucket.ask("head", name), b"3000001 audio/mp4\n")
        self.assertEqual(self.stored(), {name: (content, "audio/mp4")})
        self.assertEqual(self.bucket.ask("get", name), content)
        for first, last in [(0, 0), (1_000_000, 1_999_999), (3_000_000, 3_000_000), (2_999_990, 9_999_999), (3_000_001, 3_000_005)]:
            part = self.bucket.ask("get", "--first", first, "--last", last, name)
            self.assertEqual(part, content[first:last + 1], f"{first} to {last}")
        for _ in range(2):
            self.bucket.ask("delete", name)
        self.bucket.ask("head", name, expecting=1)
        self.assertEqual(self.stored(), {})

    def test_empty(self):
        """Nothing is a blob too."""
        name = self.put(b"", kind="text/plain")
        self.assertEqual(self.bucket.ask("head", name), b"0 text/plain\n")
        self.assertEqual(self.bucket.ask("get", name), b"")
        self.bucket.ask("delete", name)

    def test_person(self):
        """A person's blobs are listed page by page, and all removed, and nobody else's."""
        other = str(uuid.uuid4())
        names = sorted(self.put(bytes([number])) for number in range(self.person))
        kept = self.put(b"kept", owner=other)
        for page in [1, 2, 1000]:
            self.assertEqual(self.bucket.ask("list", "--page", page, self.owner).decode().split(), names)
        self.assertEqual(self.bucket.ask("delete", "--all", self.owner), f"{self.person}\n".encode())
        self.assertEqual(self.bucket.ask("list", self.owner), b"")
        self.assertEqual(self.bucket.ask("list", other).decode().split(), [kept])
        self.assertEqual(self.bucket.ask("delete", "--all", other), b"1\n")
        self.assertEqual(self.stored(), {})

    def test_links(self):
        """One link stores and another reads, without any key, and neither lives longer than 15 minutes."""
        content = b"by a link"
        name = f"{self.owner}/{hashlib.sha256(content).hexdigest()}"
        upload, download = (
            self.bucket.ask("link", *upload, "--seconds", "900", name).decode().strip() for upload in [["--upload"], []])
        with self.links():
            put = ["--upload-file", self.file(content), "-H", "Content-Type: text/plain"]
            self.assertEqual(self.curl(upload, *put), ("200", b""))
            self.assertEqual(self.curl(download), ("200", content))
        self.assertEqual(self.bucket.ask("get", name), content)
        for lifetime in [0, 901]:
            self.assertIn(b"invalid", self.bucket.ask("link", "--seconds", lifetime, name, expecting=2))
        self.bucket.ask("delete", name)

    def test_wrong_key(self):
        """Another secret is refused, and nothing is stored."""
        said = self.bucket.ask(
            "put", "--owner", self.owner, self.file(b"x"), expecting=2, AWS_SECRET_ACCESS_KEY="another")
        self.assertIn(b"refused: put: status 403 SignatureDoesNotMatch", said)
        self.assertEqual(self.stored(), {})

    def test_no_bucket(self):
        """A bucket that is not there is a wrong setting, not an absent blob."""
        name = f"{self.owner}/{'0' * 64}"
        self.bucket.name += "-not"
        try:
            self.assertIn(b"list: status 404", self.bucket.ask("list", self.owner, expecting=2))
        finally:
            self.bucket.name = self.bucket.name.removesuffix("-not")
        self.bucket.ask("head", name, expecting=1)

    def curl(self, url, *options):
        """Status and body."""
        file = self.folder / "answer"
        file.write_bytes(b"")
        command = ["curl", "-sS", "--max-time", "60", "-o", file, "-w", "%{http_code}", *options]
        return run(command + (["--cacert", self.bucket.ca] if self.bucket.ca else []) + [url]), file.read_bytes()

    @contextlib.contextmanager
    def links(self):
        yield


class SandboxBucketTests(BucketTests, Case):
    def place(self):
        self.ground.control("/sandbox/s3/objects", method="DELETE")
        return self.ground.own

    def stored(self):
        """What the sandbox has, whose content is known by its digest alone."""
        objects = self.ground.control("/sandbox/s3/objects")["objects"]
        return {entry["key"]: (Digest(entry["sha256"]), entry["type"]) for entry in objects}

    def test_faults(self):
        """A store that is busy, slow or drops the connection is asked again, and the blob is stored once each time it arrives."""
        for fault in [{"status": 503}, {"drop": True}, {"delayMs": 500}]:
            self.ground.control("/sandbox/faults", {"path": "/s3/objects", "count": 2, **fault})
            name = self.put(json.dumps(fault).encode() * 10_000)
            self.assertEqual(self.ground.control("/sandbox/faults")["faults"], [])
            self.assertIn(name, self.stored())
        counts = [entry["puts"] for entry in self.ground.control("/sandbox/s3/objects")["objects"]]
        self.assertEqual(counts, [1, 1, 1])

    def test_down(self):
        """A store that stays busy is told as unavailable."""
        self.ground.control("/sandbox/faults", {"path": "/s3/objects", "status": 503})
        try:
            said = self.bucket.ask("put", "--owner", self.owner, self.file(b"x"), expecting=2)
        finally:
            self.ground.control("/sandbox/faults", method="DELETE")
        self.assertIn(b"unavailable: put: status 503", said)


class Digest:
    """Equal to content that has this SHA-256."""

    def __init__(self, digest):
        self.digest = digest

    def __eq__(self, content):
        return hashlib.sha256(content).hexdigest() == self.digest

    __hash__ = None


class MotoBucketTests(BucketTests, Case):
    def place(self):
        return self.ground.other

    def stored(self):
        with self.links():
            listed = self.ground.boto.list_objects_v2(Bucket=self.bucket.name).get("Contents", [])
            found = {entry["Key"]: self.ground.boto.get_object(Bucket=self.bucket.name, Key=entry["Key"]) for entry in listed}
            return {name: (answer["Body"].read(), answer["ContentType"]) for name, answer in found.items()}

    @contextlib.contextmanager
    def links(self):
        self.ground.judging(False)
        try:
            yield
        finally:
            self.ground.judging(True)
