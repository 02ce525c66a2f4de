"""The public interoperability cases by their names."""

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
