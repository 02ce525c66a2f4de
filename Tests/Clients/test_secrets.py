"""Planted secrets, failures of every kind, the most talkative log level: and then nothing secret is in any output."""

import json
import re
import subprocess

import grpc

from stack import BINARIES, Case, Stack, await_true

# The first two parts of any JSON web token, an ID token's as well as an assertion's, and any access token of the sandbox.
PATTERNS = [re.compile(rb"eyJ[\w-]{10,}\.eyJ[\w-]{10,}"), re.compile(rb"ya29\.[\w-]{5,}"), re.compile(rb"PRIVATE KEY")]


def pieces(secret):
    """A short secret, or the stretches of a long one: any 80 characters of it contain one of them."""
    if len(secret) < 80:
        return [secret.encode()]
    return [secret[start:start + 40].encode() for start in range(0, len(secret) - 39, 40)]


def leaks(text, secrets):
    """What of the secrets stands in a text, if only in part, by their names, and which pattern matches."""
    found = [name for name, secret in secrets.items() if any(piece in text for piece in pieces(secret))]
    return found + [pattern.pattern.decode() for pattern in PATTERNS if pattern.search(text)]


class SecretsTests(Case):
    PASSWORD = "planted-password-7f3a91"
    WRONG_PASSWORD = "planted-wrong-password-5d20c4"
    PROXY_PASSWORD = "planted-proxy-password-88e1b0"
    SALT = "planted-salt-of-subjects-31c7aa"

    def plant(self):
        """A service whose settings are full of secrets, behind an edge."""
        self.stack = Stack(start=False)
        self.addCleanup(self.stack.stop)
        ground = self.stack.ground
        ground.sql(f"alter role parley_auth password '{self.PASSWORD}'")
        self.addCleanup(ground.sql, "alter role parley_auth password null")
        self.addCleanup(ground.start_postgres)
        account = json.loads((self.stack.folder / "service-account.json").read_text())
        body = [line for line in account["private_key"].splitlines() if len(line) > 20 and "KEY" not in line]
        self.secrets = {
            "the database's password": self.PASSWORD, "a wrong password": self.WRONG_PASSWORD,
            "the proxy's password": self.PROXY_PASSWORD, "the salt": self.SALT, "the key's first line": body[0],
            "the key's last full line": body[-2],
        }
        self.stack.settings = {
            "PARLEY_AUTH_LOG_LEVEL": "trace", "PARLEY_AUTH_DATABASE_URL": self.url(self.PASSWORD),
            "PARLEY_AUTH_SUBJECT_SALT": self.SALT, "PARLEY_AUTH_MINT_CACHE_ENABLED": "false",
            "PARLEY_AUTH_MINT_TIMEOUT": "500ms", "PARLEY_AUTH_IP_BURST": "1000", "PARLEY_AUTH_JWKS_COOLDOWN": "1s",
        }
        self.auth = self.stack.start_auth("auth")
        self.stack.copies.append(self.auth)
        self.stack._start_edge()
        self.broker = self.auth.broker()

    def url(self, password):
        return f"postgresql://parley_auth:{password}@127.0.0.1:{self.stack.ground.postgres_port}/{self.stack.database}"

    def secret(self, name, token):
        """Remembers a token, and its last part alone, as something that nobody may write down."""
        self.secrets[name] = token
        last = token.rsplit(".", 1)[-1]
        if len(last) > 20:
            self.secrets[f"{name} (last part)"] = last
        return token

    def call(self, token, *more, capability=""):
        """An exchange, which may fail."""
        request = self.stack.ground.messages.ExchangeTokenRequest(capability=capability)
        try:
            answer = self.broker.ExchangeToken(request, metadata=self.stack.metadata(token) + list(more), timeout=20)
            self.secret(f"access token {len(self.secrets)}", answer.access_token)
            return grpc.StatusCode.OK
        except grpc.RpcError as error:
            self.assertEqual([], leaks(f"{error.details()} {error.trailing_metadata()}".encode(), self.secrets))
            return error.code()

    # MARK: What is done

    def calls_of_all_kinds(self, good):
        self.assertEqual(self.call(good), grpc.StatusCode.OK)
        status, _, body, _ = self.stack.curl(f"{self.stack.https}/token", token=good)
        self.assertEqual(status, 200)
        self.secret("access token by HTTP", json.loads(body)["access_token"])
        # A token in all the wrong places.
        for where in (f"/token?access_token={good}", f"/whoami?id_token={good}", f"/token?capability={good}"):
            self.stack.curl(self.stack.https + where, token=good)
        self.stack.curl(f"{self.stack.https}/token", "-H", f"X-Request-Id: {good}", "-H", f"X-Forwarded-For: {good}")
        self.stack.curl(f"{self.stack.https}/token", "-H", f"Authorization: Basic {good}")
        self.stack.curl(f"{self.stack.https}/token", "-H", f"Cookie: token={good}", "-H", f"Origin: https://{good}.example")
        self.call(good, ("x-request-id", good), ("x-api-key", good), ("cookie", good))
        self.call(good, capability=good)
        self.call("not a token at all, planted-9c41")
        self.call(good, ("authorization", f"Bearer {good}"))

    def refusals(self):
        wishes = {
            "for another audience": {"aud": "other"}, "expired": {"expiresIn": -120}, "unsigned": {"alg": "none"},
            "by the public key": {"alg": "HS256-public-key"}, "of an unknown key": {"kid": "nobody"},
            "of no subject": {"sub": ""},
        }
        for name, token in zip(wishes, self.stack.id_tokens(list(wishes.values()))):
            self.assertEqual(self.call(self.secret(f"token {name}", token)), grpc.StatusCode.UNAUTHENTICATED, name)
        eager = self.secret("eager token", self.stack.id_token())
        calls = [
            self.broker.WhoAmI.future(self.stack.ground.messages.WhoAmIRequest(), metadata=self.stack.metadata(eager), timeout=20)
            for _ in range(50)]
        self.assertIn(grpc.StatusCode.RESOURCE_EXHAUSTED, [call.code() for call in calls])

    def outages(self, good):
        for how in ({"status": 400}, {"status": 401}, {"status": 503}, {"drop": True}, {"delayMs": 900}):
            self.stack.fault("/google/token", **how)
            self.assertEqual(self.call(good), grpc.StatusCode.INTERNAL, how)
            self.stack.end_faults()
        self.stack.fault("/google/certs", status=500)
        self.stack.control("/sandbox/google/rotate-keys", {"withdraw": True})
        self.call(self.secret("token of the new key", self.stack.id_token()))
        self.stack.end_faults()
        self.stack.ground.kill_postgres()
        await_true("calls fail without the database", lambda: self.call(good) == grpc.StatusCode.UNAVAILABLE)
        await_true("it is not ready", lambda: not self.auth.is_ready())
        # A server that starts begins its log anew.
        (self.stack.folder / "postgres-killed.log").write_bytes((self.stack.ground.postgres_home / "log").read_bytes())
        self.stack.ground.start_postgres()
        await_true("it is ready again", self.auth.is_ready, 30)

    def starts_that_fail(self):
        """Copies that cannot start or cannot reach anything, and the commands that look at settings."""
        wrong = {"PARLEY_AUTH_DATABASE_URL": self.url(self.WRONG_PASSWORD), "PARLEY_AUTH_START_TIMEOUT": "1s"}
        copy = self.stack.start_auth("wrong-password", waits=False, **wrong)
        self.assertEqual(copy.wait(20), 69, copy.text()[-1500:])
        account = (self.stack.folder / "service-account.json").read_text()
        broken = self.stack.folder / "broken.json"
        broken.write_text(account.replace('"client_email"', '"client_mail"'))
        copy = self.stack.start_auth("broken-key", waits=False, PARLEY_AUTH_GOOGLE_SA_JSON_FILE=str(broken))
        self.assertEqual(copy.wait(20), 78, copy.text()[-1500:])
        proxy = f"http://someone:{self.PROXY_PASSWORD}@127.0.0.1:9"
        copy = self.stack.start_auth("proxied", waits=False, PARLEY_AUTH_OUTBOUND_PROXY=proxy)
        copy.listens()
        await_true("keys cannot be fetched", lambda: "fetch" in copy.text() and not copy.is_ready())
        settings = {**self.stack.auth_settings(), **self.stack.settings, "PARLEY_AUTH_OUTBOUND_PROXY": proxy}
        for words in (["config", "check"], ["migrate"]):
            with open(self.stack.folder / f"{'-'.join(words)}.log", "wb") as output:
                subprocess.run(
                    [str(BINARIES / "parley-auth"), *words], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=settings,
                    timeout=30, check=False)

    # MARK: What comes of it

    def test_no_secret_is_written(self):
        """B-24, B-25: no token, assertion, key, password or salt is in any output of any process, at any level."""
        self.plant()
        good = self.secret("good token", self.stack.id_token(email="ana@example.org"))
        self.calls_of_all_kinds(good)
        self.refusals()
        self.outages(good)
        self.starts_that_fail()
        self.stack.stop()

        ground = self.stack.ground
        files = [*self.stack.folder.rglob("*.log"), *(ground.folder / "logs").glob("*.log"), ground.postgres_home / "log"]
        texts = {file: file.read_bytes() for file in files}
        # What is searched is what was written: each of these is there.
        everything = b"".join(texts.values())
        for word in (b'"level":"debug"', b"INVALID_ID_TOKEN", b"RATE_LIMITED_USER", b"MINT_FAILED", b"LIMITER_UNAVAILABLE",
                     b"POST /token", b"database system is ready", b"cannot start"):
            self.assertTrue(word in everything, word)
        self.assertGreater(len(self.secrets), 25)
        for file, text in texts.items():
            with self.subTest(file=file.name):
                self.assertEqual([], leaks(text, self.secrets))
        table = ground.sql("select string_agg(i::text, ' ') from auth.token_issuance i", self.stack.database)
        self.assertIn("issued", table)
        self.assertEqual([], leaks(table.encode(), self.secrets))

    def test_the_search_finds_what_is_there(self):
        """The search itself finds a secret by its text and a token by its form."""
        token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0aaaaaa.c2lnbmF0dXJl"
        self.assertEqual(leaks(b'{"detail":"planted"}', {"a password": "planted"}), ["a password"])
        self.assertEqual(len(leaks(f"Authorization: Bearer {token}".encode(), {})), 1)
        long = "".join(map(str, range(200)))
        self.assertEqual(leaks(f"detail {long[131:211]}...".encode(), {"a token": long}), ["a token"])
        self.assertEqual(leaks(b"nothing here", {"a password": "planted"}), [])
