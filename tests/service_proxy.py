"""A proxy between servers, which can cut connections, let none through, and make them slow."""

import asyncio
import contextlib
import threading


class Proxy:
    """Passes bytes from a port of its own to another.

    Attributes
    ----------
    port : int
        Where it listens.
    delay : float
        Seconds that every piece takes on its way.
    is_cut, is_mute : bool
        Whether connections are closed at once; whether nothing comes back over them.
    """

    def __init__(self, to):
        self.to, self.delay, self.is_cut, self.is_mute, self.port = to, 0.0, False, False, 0
        self._loop = asyncio.new_event_loop()
        self._writers = set()
        begun = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(begun,), daemon=True)
        self._thread.start()
        begun.wait()

    def _run(self, begun):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._pass, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        begun.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def _pass(self, reader, writer):
        if self.is_cut:
            writer.close()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self._copy(reader, back), self._copy(there, writer, is_back=True))
        self._writers -= {writer, back}

    async def _copy(self, reader, writer, *, is_back=False):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                if is_back and self.is_mute:
                    continue
                writer.write(data)
                await writer.drain()
        writer.close()

    def cut(self):
        """Close every connection, and those that come, until `mend`."""
        self.is_cut = True

        def close():
            for writer in self._writers:
                writer.transport.abort()

        self._loop.call_soon_threadsafe(close)

    def mend(self):
        """Let connections through again, as fast as they are."""
        self.is_cut, self.is_mute, self.delay = False, False, 0.0

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10.0)
