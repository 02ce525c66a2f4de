"""HTTP/2 on the library h2: connections of either side whose streams send and receive whatever they are told, also nonsense."""

import asyncio
import contextlib
import ssl

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

WINDOW = 16 << 20


class Stream:
    """One request and its response."""

    def __init__(self, connection, number):
        self.connection = connection
        self.number = number
        self.headers = None
        self.trailers = []
        self.reset_code = None
        self.ended = False
        self.data = bytearray()
        self.changed = asyncio.Event()

    def _tell(self):
        self.changed.set()

    async def _wait(self):
        self.changed.clear()
        await self.changed.wait()

    async def head(self):
        """The first headers; None when the stream ends without any."""
        while self.headers is None and not self.ended:
            await self._wait()
        return self.headers

    async def read(self):
        """The next bytes of the body; empty at its end."""
        while not self.data and not self.ended:
            await self._wait()
        data = bytes(self.data)
        self.data.clear()
        return data

    async def rest(self):
        """All that is left of the body."""
        body = b""
        while data := await self.read():
            body += data
        return body

    def send_headers(self, fields, end=False):
        self.connection.act(lambda h2: h2.send_headers(self.number, fields, end_stream=end))

    async def send(self, data=b"", end=False):
        """Sends a part of the body as the peer's windows allow; ConnectionError when the stream is over."""
        while True:
            if self.reset_code is not None or self.connection.closed:
                raise ConnectionError("the stream is over")
            room = min(self.connection.h2.local_flow_control_window(self.number), self.connection.h2.max_outbound_frame_size)
            part, rest = data[:room], data[room:]
            if part or not data:
                self.connection.act(lambda h2: h2.send_data(self.number, part, end_stream=end and not rest))
                data = rest
                if not data:
                    return
            else:
                await self._wait()

    def reset(self, code=h2.errors.ErrorCodes.CANCEL):
        with contextlib.suppress(ConnectionError):
            self.connection.act(lambda h2: h2.reset_stream(self.number, code))
        self.ended = True
        self._tell()


class Connection:
    """One connection; streams that the peer opens are handed to `on_stream`, in tasks of their own."""

    def __init__(self, reader, writer, is_client, on_stream=None):
        self.reader, self.writer, self.on_stream = reader, writer, on_stream
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=is_client, header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
        self.h2.local_settings = h2.settings.Settings(
            client=is_client, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: WINDOW})
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(WINDOW)
        self.streams = {}
        self.tasks = set()
        self.closed = False
        self._flush()
        self.pump = asyncio.create_task(self._pump())

    def act(self, action):
        """Does something to the connection and sends what comes of it; ConnectionError when it cannot be done any more."""
        try:
            action(self.h2)
        except h2.exceptions.H2Error as error:
            raise ConnectionError(str(error)) from error
        self._flush()

    def _flush(self):
        data = self.h2.data_to_send()
        if data and not self.writer.is_closing():
            self.writer.write(data)

    def open(self, fields, end=False):
        """A new stream with these request headers."""
        stream = Stream(self, self.h2.get_next_available_stream_id())
        self.streams[stream.number] = stream
        stream.send_headers(fields, end)
        return stream

    async def _pump(self):
        try:
            while data := await self.reader.read(1 << 16):
                for event in self.h2.receive_data(data):
                    self._handle(event)
                self._flush()
        except (h2.exceptions.H2Error, OSError):
            self._flush()
        finally:
            self.closed = True
            self.writer.close()
            for stream in self.streams.values():
                stream.ended = True
                stream._tell()

    def _handle(self, event):
        if isinstance(event, h2.events.RequestReceived) and self.on_stream:
            stream = self.streams[event.stream_id] = Stream(self, event.stream_id)
            stream.headers = event.headers
            task = asyncio.create_task(self._serve(stream))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif isinstance(event, h2.events.WindowUpdated) and not event.stream_id:
            for stream in self.streams.values():
                stream._tell()
        elif isinstance(event, (h2.events.RemoteSettingsChanged, h2.events.SettingsAcknowledged)):
            for stream in self.streams.values():
                stream._tell()
        stream = self.streams.get(getattr(event, "stream_id", None))
        if stream is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            stream.headers = event.headers
        elif isinstance(event, h2.events.TrailersReceived):
            stream.trailers = event.headers
        elif isinstance(event, h2.events.DataReceived):
            stream.data += event.data
            if event.flow_controlled_length:
                with contextlib.suppress(h2.exceptions.H2Error):
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            stream.reset_code = int(event.error_code)
            stream.ended = True
        elif isinstance(event, h2.events.StreamEnded):
            stream.ended = True
        stream._tell()

    async def _serve(self, stream):
        with contextlib.suppress(ConnectionError):
            await self.on_stream(stream)

    async def close(self):
        with contextlib.suppress(ConnectionError):
            self.act(lambda h2: h2.close_connection())
        self.writer.close()
        self.pump.cancel()
        await asyncio.gather(self.pump, return_exceptions=True)
        for task in list(self.tasks):
            task.cancel()

    def abort(self):
        """Ends the connection without a word."""
        self.writer.transport.abort()


def client_tls(ca, identity=None):
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols(["h2"])
    if identity:
        context.load_cert_chain(*map(str, identity))
    return context


def server_tls(identity, client_ca=None):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(client_ca) if client_ca else None)
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(*map(str, identity))
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def connect(port, tls=None):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname="localhost" if tls else None)
    return Connection(reader, writer, is_client=True)


class Listener:
    """A server that hands each stream to `on_stream`."""

    def __init__(self, on_stream):
        self.on_stream = on_stream
        self.connections = []

    async def start(self, tls=None):
        def accepted(reader, writer):
            self.connections = [connection for connection in self.connections if not connection.closed]
            self.connections.append(Connection(reader, writer, is_client=False, on_stream=self.on_stream))

        self.server = await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=tls)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def stop(self):
        self.server.close()
        for connection in self.connections:
            await connection.close()
