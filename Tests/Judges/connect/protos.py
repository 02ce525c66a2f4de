"""The judge's messages, compiled from proto/ when the judge starts."""

import importlib
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILES = ["config", "service", "server_compat", "client_compat"]
SERVICE = "connectrpc.conformance.v1.ConformanceService"


def _compile():
    from grpc_tools import protoc

    folder = ROOT / ".local/judges/connect"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bundled = Path(importlib.import_module("grpc_tools").__file__).parent / "_proto"
    arguments = ["protoc", f"-I{ROOT / 'proto'}", f"-I{bundled}", f"--python_out={folder}"]
    if protoc.main(arguments + [f"connectrpc/conformance/v1/{name}.proto" for name in FILES]):
        raise SystemExit("connect: the messages could not be compiled")
    sys.path.insert(0, str(folder))


_compile()
config, service, server_compat, client_compat = (
    importlib.import_module(f"connectrpc.conformance.v1.{name}_pb2") for name in FILES)
# What errors carry as details must be known to the JSON codec.
importlib.import_module("google.rpc.error_details_pb2")

from google.protobuf import any_pb2, json_format  # noqa: E402
from google.rpc import error_details_pb2  # noqa: E402

__all__ = ["any_pb2", "client_compat", "config", "error_details_pb2", "json_format", "server_compat", "service"]

UNARY, CLIENT, SERVER, HALF, FULL = 1, 2, 3, 4, 5
CONNECT, GRPC, GRPC_WEB = 1, 2, 3
PROTO, JSON = 1, 2
IDENTITY, GZIP = 1, 2

METHODS = {UNARY: "Unary", CLIENT: "ClientStream", SERVER: "ServerStream", HALF: "BidiStream", FULL: "BidiStream"}
REQUESTS = {
    "Unary": service.UnaryRequest, "ClientStream": service.ClientStreamRequest, "ServerStream": service.ServerStreamRequest,
    "BidiStream": service.BidiStreamRequest, "IdempotentUnary": service.IdempotentUnaryRequest,
    "Unimplemented": service.UnimplementedRequest,
}
RESPONSES = {
    "Unary": service.UnaryResponse, "ClientStream": service.ClientStreamResponse, "ServerStream": service.ServerStreamResponse,
    "BidiStream": service.BidiStreamResponse, "IdempotentUnary": service.IdempotentUnaryResponse,
    "Unimplemented": service.UnimplementedResponse,
}
PROTOCOL_NAMES = {CONNECT: "connect", GRPC: "grpc", GRPC_WEB: "grpc-web"}
CODEC_NAMES = {PROTO: "proto", JSON: "json"}
COMPRESSION_NAMES = {IDENTITY: "identity", GZIP: "gzip"}
STREAM_NAMES = {UNARY: "unary", CLIENT: "client", SERVER: "server", HALF: "half", FULL: "full"}


def pack(message):
    """The message in an Any."""
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
