"""The calls of the matrix: each a ClientCompatRequest, and what must come of it by the rules of the judge's service."""

import itertools
from dataclasses import dataclass, field

from . import protos
from .protos import CLIENT, CONNECT, FULL, GZIP, HALF, IDENTITY, PROTO, SERVER, UNARY

CANCELED, DEADLINE, EXHAUSTED, UNIMPLEMENTED = 1, 4, 8, 12
LIMIT = 64 << 10
STREAMS = [UNARY, CLIENT, SERVER, HALF, FULL]

HEADERS = [protos.service.Header(name="x-custom-header", value=["foo"]),
           protos.service.Header(name="x-many", value=["one", "two", "three"]),
           protos.service.Header(name="x-data-bin", value=["AAEC/w", "/+8"])]
TRAILERS = [protos.service.Header(name="x-custom-trailer", value=["bar", "baz"]),
            protos.service.Header(name="x-trailer-bin", value=["3q2+7w"])]


@dataclass
class Case:
    """One call and what must come of it."""
    name: str
    request: protos.client_compat.ClientCompatRequest
    payloads: list = field(default_factory=list)
    error: protos.service.Error | None = None
    codes: tuple = ()
    headers: list = field(default_factory=list)
    trailers: list = field(default_factory=list)
    unsent: int = 0
    # How many of the payloads may be missing, for calls that are ended at a moment that is not exact.
    may_miss: int = 0
    # Whether the error's message and details are the definition's own.
    exact_error: bool = True


def request(stream, messages, method=None, http_version=2, **more):
    return protos.client_compat.ClientCompatRequest(
        http_version=http_version, service=protos.SERVICE, method=method or protos.METHODS[stream], stream_type=stream,
        request_messages=[protos.pack(message) for message in messages], request_headers=HEADERS, **more)


def definition(stream, data=(), error=None, delay=0, headers=True):
    """How to answer: `data` is one for calls with one answer."""
    around = {"response_headers": HEADERS, "response_trailers": TRAILERS} if headers else {}
    if stream in (UNARY, CLIENT):
        made = protos.service.UnaryResponseDefinition(response_delay_ms=delay, **around)
        if error is not None:
            made.error.CopyFrom(error)
        elif data:
            made.response_data = data[0]
        return made
    made = protos.service.StreamResponseDefinition(response_data=list(data), response_delay_ms=delay, **around)
    if error is not None:
        made.error.CopyFrom(error)
    return made


def messages(stream, answer, count=1, method=None):
    """`count` requests, the first of which says how to answer."""
    kind = protos.REQUESTS[method or protos.METHODS[stream]]
    made = [kind(request_data=f"request {index}".encode()) for index in range(count)]
    if made and answer is not None:
        made[0].response_definition.CopyFrom(answer)
    if made and stream == FULL:
        made[0].full_duplex = True
    return made


def predicted(name, call):
    """The case of a call that is neither cancelled nor out of time: what the service's rules make of it."""
    stream = call.stream_type
    sent = list(call.request_messages)
    case = Case(name, call)
    made = [protos.REQUESTS[call.method].FromString(message.value) for message in sent]
    answer = made[0].response_definition if made else None
    if answer is not None:
        case.headers, case.trailers = list(answer.response_headers), list(answer.response_trailers)
    data, error = [], None
    if stream in (UNARY, CLIENT):
        if answer is not None and answer.WhichOneof("response") == "error":
            error = answer.error
        else:
            data = [answer.response_data if answer is not None else b""]
    elif answer is not None:
        data = list(answer.response_data)
        error = answer.error if answer.HasField("error") else None
    for index, body in enumerate(data):
        payload = protos.service.ConformancePayload(data=body)
        if stream == FULL and index < len(sent):
            payload.request_info.requests.append(sent[index])
        elif index == 0:
            payload.request_info.requests.extend(sent)
        if index == 0:
            payload.request_info.request_headers.extend(call.request_headers)
        case.payloads.append(payload)
    if stream == FULL and len(sent) > len(data):
        case.unsent = len(sent) - len(data) - 1
    if error is not None:
        case.error = protos.service.Error()
        case.error.CopyFrom(error)
        if not data:
            seen = sent[:1] if stream == FULL else sent
            case.error.details.append(protos.pack(protos.service.ConformancePayload.RequestInfo(
                requests=seen, request_headers=call.request_headers)))
    return case


def made(name, stream, data=(), error=None, count=1, delay=0, headers=True, defined=True, **more):
    answer = definition(stream, data, error, delay, headers) if defined else None
    return predicted(f"{protos.STREAM_NAMES[stream]}/{name}", request(stream, messages(stream, answer, count), **more))


# MARK: The suites

DETAILS = [protos.pack(protos.service.Header(name="detail", value=["a", "b"])),
           protos.pack(protos.error_details_pb2.ErrorInfo(reason="TEST", domain="judge", metadata={"key": "value"}))]


def error(code=5, message="no such thing", details=()):
    return protos.service.Error(code=code, message=message, details=details)


def basic():
    for stream in STREAMS:
        many = [b"first", b"", b"third \x00\xff"] if stream in (SERVER, HALF, FULL) else [b"data"]
        counts = {UNARY: [1], SERVER: [1], CLIENT: [0, 1, 3], HALF: [0, 1, 3], FULL: [0, 1, 2, 3]}[stream]
        for count in counts:
            yield made(f"success of {count}", stream, many, count=count)
            yield made(f"error of {count}", stream, [], error(details=DETAILS), count=count)
            yield made(f"undefined of {count}", stream, defined=False, count=count)
        yield made("no headers", stream, many, headers=False)
        yield made("empty definition", stream, [], headers=False)
        yield made("delayed", stream, many, delay=5)
        yield made("late requests", stream, many, count=counts[-1], request_delay_ms=5)
        if stream in (SERVER, HALF, FULL):
            yield made("error after answers", stream, many, error(details=DETAILS), count=counts[-1])
            yield made("error after one answer", stream, many[:1], error(), count=counts[-1])
            yield made("many answers", stream, [b"%d" % index for index in range(40)], count=counts[-1])
        both = definition(stream, many)
        for headers in (both.response_headers, both.response_trailers):
            headers.add(name="x-in-both", value=["twice", "each"])
        yield predicted(f"{protos.STREAM_NAMES[stream]}/the same name in headers and trailers", request(
            stream, messages(stream, both, counts[-1])))
        yield made("large", stream, [b"large" * 20_000], count=counts[-1])


def errors():
    for stream in STREAMS:
        for code in range(1, 17):
            yield made(f"code {code}", stream, [], error(code, f"code {code}"))
        yield made("no message", stream, [], error(9, ""))
        yield made("Unicode", stream, [], error(3, "50% päüsé\n\t☺ \U0001F600 %zz"))
        yield made("many details", stream, [], error(8, "full", DETAILS * 5))


def unimplemented():
    call = request(UNARY, [protos.service.UnimplementedRequest()], "Unimplemented")
    yield Case("unimplemented/method", call, codes=(UNIMPLEMENTED,))
    for stream in STREAMS:
        call = request(stream, messages(stream, None), method=protos.METHODS[stream])
        call.method = "NoSuchMethod"
        yield Case(f"unimplemented/unknown method {protos.STREAM_NAMES[stream]}", call, codes=(UNIMPLEMENTED,))
        call = request(stream, messages(stream, None))
        call.service = "connectrpc.conformance.v1.NoSuchService"
        yield Case(f"unimplemented/unknown service {protos.STREAM_NAMES[stream]}", call, codes=(UNIMPLEMENTED,))


def idempotent(by_get):
    name = "IdempotentUnary"
    for title, answer in [
        ("success", definition(UNARY, [b"data"])), ("error", definition(UNARY, [], error(details=DETAILS))),
        ("undefined", None), ("delayed", definition(UNARY, [b"late"], delay=5)),
    ]:
        call = request(UNARY, messages(UNARY, answer, method=name), name, use_get_http_method=by_get)
        yield predicted(f"{'get' if by_get else 'idempotent'}/{title}", call)


def timeouts():
    for stream in STREAMS:
        case = made("out of time", stream, [b"late"], delay=3_000, timeout_ms=150, headers=False)
        case.codes, case.error, case.payloads = (DEADLINE,), None, []
        yield case
        case = made("in time", stream, [b"soon"], timeout_ms=20_000)
        yield case
        case = made("error in time", stream, [], error(14, "later"), timeout_ms=20_000)
        yield case
        if stream in (SERVER, HALF, FULL):
            case = made("out of time after answers", stream, [b"one", b"two"], delay=350, timeout_ms=500, headers=False)
            case.codes, case.may_miss = (DEADLINE,), 2
            case.payloads = case.payloads[:1]
            yield case


def cancellations():
    Cancel = protos.client_compat.ClientCompatRequest.Cancel
    for stream in STREAMS:
        counts = 2 if stream in (CLIENT, HALF) else 1
        if stream in (CLIENT, HALF):
            case = made("cancelled before the end", stream, [b"never"], count=counts, delay=2_000, headers=False)
            case.request.cancel.before_close_send.SetInParent()
            yield _cancelled(case, 0)
        case = made("cancelled after the end", stream, [b"never"], count=counts, delay=5_000, headers=False)
        case.request.cancel.CopyFrom(Cancel(after_close_send_ms=50))
        if stream == FULL:
            # The one answer is awaited before the end of sending. The other must not come in the 50 ms until the cancellation, however
            # slow the machine is just then.
            case.request.request_messages[0].CopyFrom(
                protos.pack(messages(FULL, definition(FULL, [b"now", b"never"], delay=1_500, headers=False))[0]))
            case = _cancelled(predicted(case.name, case.request), 1)
        yield _cancelled(case, 1 if stream == FULL else 0)
        if stream in (SERVER, HALF, FULL):
            case = made("cancelled after an answer", stream, [b"one", b"two", b"three"], count=counts, delay=100, headers=False)
            case.request.cancel.CopyFrom(Cancel(after_num_responses=1))
            yield _cancelled(case, 1)


def _cancelled(case, answers):
    case.payloads, case.error, case.codes, case.unsent = case.payloads[:answers], None, (CANCELED,), 0
    return case


def sized(stream, codec, limit, excess):
    """A request whose encoding has exactly `excess` bytes more than `limit`."""
    from . import wire
    kind = protos.REQUESTS[protos.METHODS[stream]]

    def size(count):
        message = kind(request_data=bytes(count))
        message.response_definition.CopyFrom(definition(stream, [b"ok"], headers=False))
        if stream == FULL:
            message.full_duplex = True
        return message, len(wire.encode(message, codec)) - limit - excess

    low, high = 0, limit
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if size(middle)[1] >= 0 else (middle + 1, high)
    message, off = size(low)
    # Base64 grows by four: a JSON request cannot hit every size.
    return message if off == 0 else size(low - 1)[0] if excess <= 0 else message


def server_limits(codec):
    """For a server whose requests may have LIMIT bytes. JSON leaves its writer some choice in the size."""
    below, above = (0, 1) if codec == PROTO else (-400, 400)
    for stream in STREAMS:
        call = request(stream, [sized(stream, codec, LIMIT, below)])
        yield predicted(f"{protos.STREAM_NAMES[stream]}/request at the limit", call)
        call = request(stream, [sized(stream, codec, LIMIT, above)])
        yield Case(f"{protos.STREAM_NAMES[stream]}/request above the limit", call, codes=(EXHAUSTED,), may_miss=0)
        if stream in (CLIENT, HALF):
            call = request(stream, [messages(stream, definition(stream, [b"ok"]))[0], sized(stream, codec, LIMIT, above)])
            yield Case(f"{protos.STREAM_NAMES[stream]}/second request above the limit", call, codes=(EXHAUSTED,))


def client_limits():
    """For a client whose answers may have LIMIT bytes. They hold the data twice: once more in the request that they echo."""
    for stream in STREAMS:
        case = made("answer within the limit", stream, [bytes(LIMIT // 4)], headers=False)
        case.request.message_receive_limit = LIMIT
        yield case
        case = made("answer above the limit", stream, [bytes(LIMIT + 1)], headers=False)
        case.request.message_receive_limit = LIMIT
        case.payloads, case.codes = [], (EXHAUSTED,)
        yield case


def suites(protocol, codec):
    """All suites of one protocol and codec, by name."""
    yield "basic", list(basic()) + list(idempotent(False))
    yield "errors", list(errors()) + list(unimplemented())
    yield "timeouts", list(timeouts())
    yield "cancellation", list(cancellations())
    yield "client limits", list(client_limits())
    yield "server limits", list(server_limits(codec))
    if protocol == CONNECT:
        yield "GET", list(idempotent(True))


def plain_unary(protocol, codec):
    """The unary calls of all suites as most programs make them. The error of one that failed tells its headers, too."""
    for suite, suite_cases in suites(protocol, codec):
        for case in suite_cases:
            if case.request.stream_type == UNARY and suite not in ("cancellation", "server limits"):
                case.name = f"{suite}/{case.name}"
                yield case


def matrix(protocols=(1, 2, 3), codecs=(1, 2), compressions=(IDENTITY, GZIP)):
    """(protocol, codec, compression) of every combination."""
    return itertools.product(protocols, codecs, compressions)


def smallest():
    """One combination for each protocol, for what does not depend on the rest."""
    return [(protocol, PROTO, GZIP if protocol == CONNECT else IDENTITY) for protocol in (1, 2, 3)]
