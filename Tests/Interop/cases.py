"""The public interoperability cases by their names, and how they are run."""

import concurrent.futures
import subprocess
import sys

# Their names in the clients of gRPC C++, Go and ours.
CASES = [
    "empty_unary", "large_unary", "client_compressed_unary", "server_compressed_unary", "client_streaming", "server_streaming",
    "ping_pong", "empty_stream", "half_duplex", "client_compressed_streaming", "server_compressed_streaming", "slow_consumer",
    "cancel_after_begin", "cancel_after_first_response", "timeout_on_sleeping_server", "status_code_and_message",
    "special_status_message", "custom_metadata", "unimplemented_method", "unimplemented_service", "pick_first_unary", "rpc_soak",
    "channel_soak",
]

# What a grpcio server cannot judge, since it hides from handlers whether a request came compressed.
COMPRESSED_REQUESTS = ["client_compressed_unary", "client_compressed_streaming"]

# What the C++ server of Debian's version does not know: it never says which process it is.
SERVER_ID = ["pick_first_unary"]


def each(test, names, command, **options):
    """Runs the command of every case, four at a time, and fails `test` for each that does not end with 0."""
    def run(name):
        return subprocess.run(
            [str(word) for word in command(name)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150,
            check=False, **options)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        running = {name: pool.submit(run, name) for name in names}
        for name, done in running.items():
            with test.subTest(case=name):
                ended = done.result()
                test.assertEqual(ended.returncode, 0, (ended.stdout + ended.stderr)[-1500:])
    print(f"{len(names)} cases", end=" ", file=sys.stderr)
