"""What came of a call beside what had to."""

from . import protos

RequestInfo = protos.service.ConformancePayload.RequestInfo
RetryInfo = protos.error_details_pb2.RetryInfo


def differences(case, actual):
    """Every difference, in words; empty when there is none."""
    found = list(actual.feedback)
    found += _error(case, actual)
    found += _payloads(case, actual)
    if case.codes == ():
        # Also where a call fails before its first answer: what its handler had set as headers comes as such, before the trailers.
        found += _headers("headers", case.headers, actual.response_headers)
        found += _headers("trailers", case.trailers, actual.response_trailers)
        if actual.num_unsent_requests != case.unsent:
            found.append(f"{actual.num_unsent_requests} requests were not sent, not {case.unsent}")
    return found


def _error(case, actual):
    present = actual.HasField("error")
    if case.codes:
        if not present:
            return [f"no error, not one of the codes {case.codes}"]
        if actual.error.code not in case.codes:
            return [f"code {actual.error.code} ({actual.error.message}), not one of {case.codes}"]
        return unasked(actual.error)
    if case.error is None:
        return [f"code {actual.error.code} ({actual.error.message}) where there should be no error"] if present else []
    if not present:
        return [f"no error, not code {case.error.code}"]
    found = []
    if actual.error.code != case.error.code:
        found.append(f"code {actual.error.code} ({actual.error.message}), not {case.error.code}")
    if actual.error.message != case.error.message:
        found.append(f"the message {actual.error.message!r}, not {case.error.message!r}")
    if not case.exact_error:
        return found
    if len(actual.error.details) != len(case.error.details):
        return found + [f"{len(actual.error.details)} details, not {len(case.error.details)}"]
    for index, (mine, theirs) in enumerate(zip(case.error.details, actual.error.details)):
        if mine.type_url.rpartition("/")[2] != theirs.type_url.rpartition("/")[2]:
            found.append(f"detail {index} is a {theirs.type_url}")
        elif mine.Is(RequestInfo.DESCRIPTOR):
            found += _info(RequestInfo.FromString(mine.value), RequestInfo.FromString(theirs.value), case.request)
        elif mine.value != theirs.value:
            found.append(f"detail {index} has other content")
    return found


def unasked(error):
    """What no implementation adds to an error that is its own and no handler's. When to come back it may say."""
    return [f"the error carries a {detail.type_url}" for detail in error.details if not detail.Is(RetryInfo.DESCRIPTOR)]


def _payloads(case, actual):
    found = []
    missing = len(case.payloads) - len(actual.payloads)
    if missing < 0 or missing > case.may_miss:
        found.append(f"{len(actual.payloads)} answers, not {len(case.payloads)}")
    for index, (mine, theirs) in enumerate(zip(case.payloads, actual.payloads)):
        if mine.data != theirs.data:
            found.append(f"answer {index} has other data ({len(theirs.data)} bytes, not {len(mine.data)})")
        found += [f"answer {index}: {what}" for what in _info(mine.request_info, theirs.request_info, case.request)]
    return found


def _info(mine, theirs, request):
    found = []
    if [message.value for message in mine.requests] != [message.value for message in theirs.requests]:
        found.append(f"{len(theirs.requests)} requests echoed, not {len(mine.requests)}, or with other content")
    if mine.request_headers:
        found += _headers("request headers", mine.request_headers, theirs.request_headers)
        if request.HasField("timeout_ms"):
            if not theirs.HasField("timeout_ms"):
                found.append("the server saw no timeout")
            elif not request.timeout_ms - 2_000 <= theirs.timeout_ms <= request.timeout_ms:
                found.append(f"the server saw a timeout of {theirs.timeout_ms} ms, not {request.timeout_ms}")
        elif theirs.HasField("timeout_ms"):
            found.append(f"the server saw a timeout of {theirs.timeout_ms} ms where none was")
    return found


def _headers(what, mine, theirs):
    """Every one of mine must be there with its values in order; values may come joined by commas."""
    given = {}
    for header in theirs:
        given.setdefault(header.name.lower(), []).extend(header.value)
    found = []
    for header in mine:
        want, have = _split(header.value), _split(given.get(header.name.lower(), []))
        if want != have:
            found.append(f"{what}: {header.name} is {have}, not {want}")
    return found


def _split(values):
    return [part.strip().rstrip("=") for value in values for part in value.split(",")]
