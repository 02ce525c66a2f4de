"""What a running service tells an operator: every metric that the dashboard and the alerts name, and traces in a collector."""

import importlib
import json
import os
import re
import subprocess
import sys
from concurrent import futures

import grpc

from ground import Program
from stack import BINARIES, CALL, ROOT, Auth, Case, Ground, Stack, await_true, run

MONITORING = ROOT / "deploy/monitoring"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


def collector_stubs(folder):
    """Messages and service of OTLP, generated from proto/ for grpcio."""
    from grpc_tools import protoc

    stubs = folder / "otlp"
    stubs.mkdir(exist_ok=True)
    proto = ROOT / "proto"
    files = [str(file.relative_to(proto)) for file in sorted((proto / "opentelemetry").rglob("*.proto"))]
    if protoc.main(["protoc", f"-I{proto}", f"--python_out={stubs}", f"--grpc_python_out={stubs}", *files]):
        raise AssertionError("the Python stubs of OTLP could not be generated")
    sys.path.insert(0, str(stubs))
    package = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
    return importlib.import_module(package), importlib.import_module(package + "_grpc")


class Collector:
    """A collector on grpcio that keeps what it gets, and refuses the first request to see it come again."""

    def __init__(self, folder):
        messages, services = collector_stubs(folder)
        collector = self
        self.requests = []
        self.refused = 0

        class Service(services.TraceServiceServicer):
            def Export(self, request, context):
                if not collector.refused:
                    collector.refused += 1
                    context.abort(grpc.StatusCode.UNAVAILABLE, "not yet")
                collector.requests.append(request)
                return messages.ExportTraceServiceResponse()

        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        services.add_TraceServiceServicer_to_server(Service(), self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def spans(self):
        return [span for request in self.requests for resource in request.resource_spans for scope in resource.scope_spans
                for span in scope.spans]


def attributes(of):
    """Names and values of a span or resource."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in of.attributes}


class Demo(Auth):
    """A service that is not auth, and lets people in with a session."""

    def __init__(self, stack, auth):
        self.stack = stack
        self.port_file = stack.folder / "demo.port"
        Program.__init__(self, "demo", stack.folder / "demo.log", [BINARIES / "demo-service", "serve"], {
            "PATH": os.environ["PATH"], "PARLEY_DEMO_LISTEN": "127.0.0.1:0", "PARLEY_DEMO_ADMIN_LISTEN": "127.0.0.1:0",
            "PARLEY_DEMO_PORT_FILE": str(self.port_file), "PARLEY_DEMO_AUTH_ADDRESS": f"https://localhost:{auth.ports['tls']}",
            "PARLEY_DEMO_OUTBOUND_CA_FILE": str(stack.ground.ca)})
        stack.programs.append(self)
        self.listens()


class Onboarding(Auth):
    """The onboarding service, with a database of its own and nobody to ask."""

    def __init__(self, stack, auth):
        self.stack = stack
        self.port_file = stack.folder / "onboarding.port"
        url = stack.ground.database_url
        environment = {
            "PATH": os.environ["PATH"], "PARLEY_ONBOARDING_DATABASE_ADMIN_URL": url("postgres", stack.database),
            "PARLEY_ONBOARDING_DATABASE_OWNER_URL": url("parley_onboarding_owner", stack.database),
            "PARLEY_ONBOARDING_DATABASE_URL": url("parley_onboarding", stack.database)}
        run([BINARIES / "parley-onboarding", "migrate", "--bootstrap"], env=environment)
        Program.__init__(self, "onboarding", stack.folder / "onboarding.log", [BINARIES / "parley-onboarding", "serve"], {
            "PATH": os.environ["PATH"], "PARLEY_ONBOARDING_LISTEN": "127.0.0.1:0", "PARLEY_ONBOARDING_ADMIN_LISTEN": "127.0.0.1:0",
            "PARLEY_ONBOARDING_PORT_FILE": str(self.port_file),
            "PARLEY_ONBOARDING_AUTH_ADDRESS": f"https://localhost:{auth.ports['tls']}",
            "PARLEY_ONBOARDING_OUTBOUND_CA_FILE": str(stack.ground.ca),
            "PARLEY_ONBOARDING_BLOBS_DIRECTORY": str(stack.folder / "recordings"),
            "PARLEY_ONBOARDING_DATABASE_URL": url("parley_onboarding", stack.database)})
        stack.programs.append(self)
        self.listens()


def exported(text):
    """The names in an exposition, and those of them that say what they are."""
    known, helped = set(), set(re.findall(r"^# HELP (\S+) \S", text, re.M))
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M):
        names = {name, *(name + suffix for suffix in ("_bucket", "_sum", "_count") if kind == "histogram")}
        known |= names
        if name in helped:
            helped |= names
    return known, helped


class MonitoringTests(Case):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector(Ground.get().folder)
        cls.stack = Stack(settings={
            "PARLEY_AUTH_TRACE_ENDPOINT": f"http://127.0.0.1:{cls.collector.port}", "PARLEY_AUTH_TRACE_RATIO": "0"})
        cls.auth = cls.stack.copies[0]
        cls.demo = Demo(cls.stack, cls.auth)
        cls.onboarding = Onboarding(cls.stack, cls.auth)
        cls.token = cls.stack.id_token()
        messages = cls.stack.ground.messages
        metadata = cls.stack.metadata(cls.token) + [("traceparent", f"00-{TRACE}-{PARENT}-01")]
        cls.answer = cls.auth.broker().ExchangeToken(messages.ExchangeTokenRequest(), metadata=metadata, timeout=30)
        # A call that nobody asked to record.
        cls.auth.broker().ExchangeToken(messages.ExchangeTokenRequest(), metadata=cls.stack.metadata(cls.token), timeout=30)
        run(["curl", "-sS", "--http2-prior-knowledge", f"http://127.0.0.1:{cls.auth.ports['grpc']}/healthz"])

    @classmethod
    def tearDownClass(cls):
        cls.stack.stop()
        cls.collector.server.stop(None).wait()

    def test_names(self):
        """Every metric that the dashboard and the alerts name is exported, and explained, by one of the services."""
        await_true("the loops' lag was looked at", lambda: self.auth.metric("parley_loop_lag_seconds_count") > 0)
        texts = [service.admin("/metrics")[1] for service in (self.auth, self.demo, self.onboarding)]
        own, beside, onboarding = (exported(text) for text in texts)
        labels = set(re.findall(r"[{,](\w+)=\"", "".join(texts)))
        dashboard = json.loads((MONITORING / "dashboard.json").read_text())
        said = json.dumps(dashboard) + (MONITORING / "alerts.yml").read_text()
        named = set(re.findall(r"\b(?:grpc|http|parley|process)_[a-z0-9_]+", said)) - labels
        self.assertGreater(len(named), 30)
        # What a service knows of sessions that are kept by another one, and what is onboarding's own.
        self.assertEqual({"parley_session_keys_stale_seconds"}, {name for name in named - own[0] if "onboarding" not in name})
        self.assertEqual(set(), named - own[0] - beside[0] - onboarding[0])
        self.assertEqual(set(), named - own[1] - beside[1] - onboarding[1])

    def test_onboarding(self):
        """All that onboarding counts of its work is there, at nothing, before anybody came, and dashboard or alerts name it."""
        text = self.onboarding.admin("/metrics")[1]
        series = re.findall(r"^(parley_onboarding_\w+)(?:{.*})? (\S+)$", text, re.M)
        self.assertEqual({value for _, value in series}, {"0"})
        said = (MONITORING / "dashboard.json").read_text() + (MONITORING / "alerts.yml").read_text()
        self.assertEqual([], sorted(name for name, _ in series if name not in said))
        self.assertEqual(len({name for name, _ in series}), 10)
        lines = re.findall(r'^parley_onboarding_failures_total{part="([\w ]+)"', text, re.M)
        self.assertEqual(lines, ["clone", "delete rest", "delete voice", "extract", "find voice", "store", "transcribe"])

    def test_sessions(self):
        """Both services say for how long they have heard nothing, and each cause of a logout is counted from the start."""
        # Nobody let the demo in, so it has heard nothing yet; auth asks its own database.
        self.assertGreater(self.demo.metric("parley_revocations_silence_seconds"), 1e8)
        await_true("auth has read what has ended", lambda: self.auth.metric("parley_revocations_silence_seconds") < 5)
        lines = re.findall(r'^parley_session_ends_total\{cause="(\w+)"\} 0$', self.auth.admin("/metrics")[1], re.M)
        self.assertEqual(sorted(lines), [
            "account_deleted", "consent_revoked", "expired", "refresh_reused", "revoked", "revoked_by_operator", "signed_out"])

    def test_exposition(self):
        """promtool finds nothing wrong with the names, the types and the help of what is exported."""
        for service in (self.auth, self.onboarding):
            done = subprocess.run(
                ["promtool", "check", "metrics"], input=service.admin("/metrics")[1], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), service.name)

    def test_page(self):
        """The admin page shows the connection that asks for tokens, the pools and no secret."""
        status, page = self.auth.admin("/")
        self.assertEqual(status, 200)
        parts = json.loads(self.auth.admin("/debug/all")[1])
        self.assertTrue(any(row["peer"].startswith("127.0.0.1:") for row in parts["connections"]))
        writes = next(row for row in parts["pools"] if row["pool"] == "database writes")
        self.assertGreaterEqual(writes["limit"], writes["open"])
        url = next(row for row in parts["configuration"] if row["key"] == "database.url")
        self.assertEqual(url["value"], "(hidden)")
        for secret in (self.token, self.answer.access_token, "PRIVATE KEY"):
            self.assertNotIn(secret, page)

    def test_traces(self):
        """A collector on grpcio gets the call with its statements and its requests to Google, in the caller's trace."""
        await_true("the spans were exported", lambda: self.auth.metric("parley_trace_spans_exported_total") > 2, 40)
        self.assertEqual(self.collector.refused, 1)
        spans = self.collector.spans()
        self.assertEqual({span.trace_id.hex() for span in spans}, {TRACE})
        resource = attributes(self.collector.requests[0].resource_spans[0].resource)
        self.assertEqual(resource["service.name"], "parley-auth")
        server = next(span for span in spans if span.name == CALL[1:] + "ExchangeToken")
        self.assertEqual((server.parent_span_id.hex(), server.kind), (PARENT, 2))
        self.assertEqual(attributes(server)["rpc.grpc.status_code"], 0)
        parts = [span for span in spans if span.parent_span_id == server.span_id]
        statements = [attributes(span)["db.query.text"] for span in parts if "db.query.text" in attributes(span)]
        self.assertTrue(any("$1" in text for text in statements), statements)
        outgoing = [attributes(span)["url.full"] for span in parts if "url.full" in attributes(span)]
        self.assertTrue(any(url.endswith("/token") for url in outgoing), outgoing)
        self.assertTrue(all(server.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in parts))
        sent = b"".join(request.SerializeToString() for request in self.collector.requests)
        for secret in (self.token, self.answer.access_token):
            self.assertNotIn(secret.encode(), sent)
        lines = [line for line in self.auth.calls("ExchangeToken", "OK") if line.get("trace_id") == TRACE]
        self.assertEqual([line["span_id"] for line in lines], [server.span_id.hex()])
