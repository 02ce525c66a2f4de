"""The three parts: the server alone, the client alone, and both together."""

import functools
import itertools

from . import (
    cases, certificates, compare, http2, lifecycle, malformed_requests, programs, protos, reference_client, reference_server,
    selfcheck, wrong_answers)
from .protos import CODEC_NAMES, COMPRESSION_NAMES, PROTOCOL_NAMES


class Stage:
    """What the parts run with; all that is started ends with `stack`."""

    def __init__(self, binaries, folder, report, stack):
        self.binaries, self.report, self.stack = binaries, report, stack
        self.certificates = certificates.Certificates(folder)
        self.numbers = itertools.count(1)

    async def server(self, **request):
        """A server of ours, whose end is part of the judgement."""
        server = await programs.Server.start(self.binaries / "connect-conformance-server", **request)
        self.stack.push_async_callback(server.stop)
        return server

    async def client(self, *flags):
        """A client of ours."""
        client = await programs.Client.start(self.binaries / "connect-conformance-client", *flags)
        self.stack.push_async_callback(client.stop)
        return client

    def secure(self, mutual=False):
        """The wishes for a server with TLS."""
        wish = {"use_tls": True, "server_creds": self.certificates.bytes(self.certificates.server)}
        if mutual:
            wish["client_tls_cert"] = self.certificates.client[0].read_bytes()
        return wish

    def tls(self, mutual=False):
        """How the reference client connects to such a server."""
        return http2.client_tls(self.certificates.server[0], self.certificates.client if mutual else None)


def combinations(everything=True):
    """(name, protocol, codec, compression) of each combination."""
    for protocol, codec, compression in cases.matrix() if everything else cases.smallest():
        yield (f"{PROTOCOL_NAMES[protocol]} {CODEC_NAMES[codec]} {COMPRESSION_NAMES[compression]}", protocol, codec, compression)


def placed(case, protocol, codec, compression):
    """A copy of the call for one combination."""
    request = protos.client_compat.ClientCompatRequest()
    request.CopyFrom(case.request)
    request.protocol, request.codec, request.compression = protocol, codec, compression
    return request


async def judge_itself(stage):
    """The judge's own client against its own server, right and spoilt."""
    await stage.report.suite("judge", selfcheck.checks(combinations(), combinations(False), placed), width=4)


async def judge_server(stage):
    """Our server, called by the reference client."""
    await stage.report.suite("server, program", lifecycle.server_checks(stage))
    plain, limited = await stage.server(), await stage.server(message_receive_limit=cases.LIMIT)
    secure, mutual = await stage.server(**stage.secure()), await stage.server(**stage.secure(True))

    def check(case, combination, port, tls=None):
        async def run():
            connection = await http2.connect(port, tls)
            try:
                call = reference_client.Call(connection, placed(case, *combination), tls is not None)
                return compare.differences(case, await call.run())
            finally:
                await connection.close()
        return run

    for name, *combination in combinations():
        for suite, suite_cases in cases.suites(*combination[:2]):
            if suite == "client limits":
                continue
            port = limited.port if suite == "server limits" else plain.port
            await stage.report.suite(
                f"server, {name}, {suite}", [(case.name, check(case, combination, port)) for case in suite_cases])
    for suite, checks in malformed_requests.suites():
        await stage.report.suite(
            f"server, {suite}", [(title, functools.partial(attempt, plain.port)) for title, attempt in checks])
    for kind, server, tls in [("TLS", secure, stage.tls()), ("mTLS", mutual, stage.tls(True))]:
        for name, *combination in combinations(False):
            await stage.report.suite(
                f"server, {name}, {kind}",
                [(case.name, check(case, combination, server.port, tls)) for case in cases.basic()])


def client_check(stage, client, case, combination, port, secure=None, prepare=None):
    """A check of one call made by our client."""
    async def run():
        request = placed(case, *combination)
        request.test_name = f"{next(stage.numbers)} {case.name}"
        request.host, request.port = ("127.0.0.1", port)
        if secure:
            request.server_tls_cert = stage.certificates.server[0].read_bytes()
        if secure == "mTLS":
            identity = stage.certificates.bytes(stage.certificates.client)
            request.client_tls_creds.CopyFrom(protos.config.TLSCreds(**identity))
        if prepare:
            prepare(request)
        return compare.differences(case, await client.call(request))
    return run


async def judge_both(stage):
    """Our client against our server, over everything."""
    plain, limited = await stage.server(), await stage.server(message_receive_limit=cases.LIMIT)
    secure, mutual = await stage.server(**stage.secure()), await stage.server(**stage.secure(True))
    client = await stage.client()
    for name, *combination in combinations():
        for suite, suite_cases in cases.suites(*combination[:2]):
            port = limited.port if suite == "server limits" else plain.port
            await stage.report.suite(f"both, {name}, {suite}", [
                (case.name, client_check(stage, client, case, combination, port)) for case in suite_cases])
    for kind, server in [("TLS", secure), ("mTLS", mutual)]:
        for name, *combination in combinations(False):
            await stage.report.suite(f"both, {name}, {kind}", [
                (case.name, client_check(stage, client, case, combination, server.port, kind)) for case in cases.basic()])


async def judge_client(stage):
    """Our client against the reference server, which also looks at what it sends."""
    await stage.report.suite("client, program", lifecycle.client_checks(stage))
    service = reference_server.Service()
    listeners = {kind: await http2.Listener(service.serve).start(tls) for kind, tls in [
        (None, None), ("TLS", http2.server_tls(stage.certificates.server)),
        ("mTLS", http2.server_tls(stage.certificates.server, stage.certificates.client[0]))]}
    for listener in listeners.values():
        stage.stack.push_async_callback(listener.stop)
    client = await stage.client()

    def check(case, combination, kind=None, client=client):
        number = str(next(stage.numbers))
        run = client_check(
            stage, client, case, combination, listeners[kind].port, kind,
            lambda request: request.request_headers.add(name="x-case", value=[number]))

        async def with_problems():
            found = await run()
            found += [f"the client sent: {what}" for what in service.problems.get(number, [])]
            # A call that is given up at once may never reach the server.
            verb, encoding = service.seen.get(number, ("POST", None))
            if verb != ("GET" if case.request.use_get_http_method else "POST"):
                found.append(f"the client called by {verb}")
            # A call that is given up at once may never reach the server.
            if not case.request.HasField("cancel") and (encoding or "identity") != COMPRESSION_NAMES[combination[2]]:
                found.append(f"the client's requests came in {encoding}")
            return found
        return with_problems

    plain = await stage.client("--unary")
    await judge_scripts(stage, client, plain)
    for name, *combination in combinations():
        for suite, suite_cases in cases.suites(*combination[:2]):
            if suite != "server limits":
                await stage.report.suite(
                    f"client, {name}, {suite}", [(case.name, check(case, combination)) for case in suite_cases])
        await stage.report.suite(f"client, {name}, unary calls", [
            (case.name, check(case, combination, client=plain)) for case in cases.plain_unary(*combination[:2])])
    for kind in ("TLS", "mTLS"):
        for name, *combination in combinations(False):
            await stage.report.suite(
                f"client, {name}, {kind}", [(case.name, check(case, combination, kind)) for case in cases.basic()])


async def judge_scripts(stage, client, plain):
    """Our client against answers that are scripted, wrong ones above all; unary calls also as most programs make them."""
    player = wrong_answers.Player()
    listener = await http2.Listener(player.serve).start()
    stage.stack.push_async_callback(listener.stop)

    def check(script, client):
        async def run():
            number = str(next(stage.numbers))
            player.scripts[number] = script
            request = placed(script.case(), script.protocol, script.codec, protos.IDENTITY)
            request.test_name, request.host, request.port = f"{number} {script.name}", "127.0.0.1", listener.port
            request.request_headers.add(name="x-case", value=[number])
            return script.differences(await client.call(request))
        return run

    for suite, scripts in wrong_answers.suites():
        await stage.report.suite(f"client, {suite}", [(script.name, check(script, client)) for script in scripts])
        await stage.report.suite(f"client, {suite}, unary calls", [
            (script.name, check(script, plain)) for script in scripts if script.stream == protos.UNARY])
