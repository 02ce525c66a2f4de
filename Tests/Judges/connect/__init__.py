"""A judge of Connect, gRPC-Web and gRPC over HTTP/2 with a stack of its own, beside the public one."""
