"""What we sign and judge for S3, beside botocore: who agrees with it on every request agrees with S3."""

import datetime
import os
import random
import urllib.parse

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from stack import Case, Stack, run

SEED = int(os.environ.get("PARLEY_SEED") or random.SystemRandom().randrange(1 << 32))
KEY = Credentials("PARLEYSANDBOXKEY", "parley-sandbox-secret-key")
CHARACTERS = "abcXYZ019-_.~ +/=&?%:;,@!$'()*üß語😀"


class SignatureTests(Case):
    def setUp(self):
        self.stack = Stack(start=False)
        self.addCleanup(self.stack.stop)
        self.random = random.Random(SEED)

    def text(self, least, most):
        return "".join(self.random.choice(CHARACTERS) for _ in range(self.random.randint(least, most)))

    def wish(self):
        """A random request as botocore sees it before it signs."""
        method = self.random.choice(["PUT", "GET", "HEAD", "DELETE"])
        # No key begins with a slash or has a dot for a part: curl would have to be told, and no key of ours does.
        key = "k" + self.text(0, 30).replace("./", "_/").replace("//", "/")
        query = {f"q{number}{self.text(0, 4)}": self.text(0, 8) for number in range(self.random.randint(0, 3))}
        url = f"{self.stack.sandbox_url}/parley-blobs/{urllib.parse.quote(key, safe='/-_.~')}"
        if query:
            url += "?" + "&".join(
                f"{urllib.parse.quote(name, safe='-_.~')}={urllib.parse.quote(value, safe='-_.~')}" for name, value in query.items())
        body = self.random.randbytes(self.random.randint(0, 2000)) if method == "PUT" else b""
        headers = {}
        if method == "PUT" and self.random.random() < 0.7:
            headers["content-type"] = self.random.choice(["audio/mp4", "text/plain; charset=utf-8", "application/octet-stream"])
        for name in self.random.sample(["k", "k-two", "a", "kk"], self.random.randint(0, 3)):
            headers[f"x-amz-meta-{name}"] = self.random.choice(["v", "two  words", " around ", "a,b"])
        return AWSRequest(method=method, url=url, headers=headers, data=body)

    def send(self, requests):
        """The statuses of all requests, sent by curl over one connection."""
        lines = []
        for number, request in enumerate(requests):
            prepared = request.prepare()
            if number:
                lines.append("next")
            lines += [
                "silent", f'cacert = "{self.stack.ground.ca}"', "http2", "path-as-is", f'url = "{prepared.url}"',
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
                file = self.stack.folder / f"body-{number}"
                file.write_bytes(prepared.body or b"")
                lines += [f'data-binary = "@{file}"'] + (
                    [] if "content-type" in {name.lower() for name in prepared.headers} else ['header = "Content-Type:"'])
        config = self.stack.folder / "requests"
        config.write_text("\n".join(lines) + "\n")
        return [int(line) for line in run(["curl", "--config", config]).split()]

    def test_header_signatures(self):
        """200 random requests that botocore has signed are judged right to the last header, and wrong with one digit changed."""
        requests = [self.wish() for _ in range(200)]
        for request in requests:
            S3SigV4Auth(KEY, "s3", "auto").add_auth(request)
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
            wish = self.wish()
            request = AWSRequest(method=self.random.choice(["PUT", "GET"]), url=wish.url)
            S3SigV4QueryAuth(KEY, "s3", "auto", expires=self.random.randint(60, 900)).add_auth(request)
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
        request = self.wish()
        signer = S3SigV4Auth(KEY, "s3", "auto")
        then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=16)
        request.context["timestamp"] = then.strftime("%Y%m%dT%H%M%SZ")
        signer._modify_request_before_signing(request)
        canonical = signer.canonical_request(request)
        signature = signer.signature(signer.string_to_sign(request, canonical), request)
        signer._inject_signature_to_request(request, signature)
        self.assertEqual(self.send([request]), [403])
