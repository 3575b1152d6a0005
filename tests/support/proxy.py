"""A bad network between bots and a host: a TCP proxy that delays, jitters, cuts and half-opens connections."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

CHUNK = 65_536
TO_HOST, TO_BOT = "to the host", "to the bot"


class Link:
    """One connection through the proxy, two directions."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.dead: dict[str, asyncio.Event] = {TO_HOST: asyncio.Event(), TO_BOT: asyncio.Event()}

    @property
    def healthy(self) -> bool:
        return not any(event.is_set() for event in self.dead.values())

    def abort(self) -> None:
        """End both connections at once, whatever is under way."""
        for task in self.tasks:
            task.cancel()
        for writer in self.writers:
            writer.transport.abort()


class Proxy:
    """
    Passes bytes between bots and a host, late, until :meth:`cut` or :meth:`half_open`.

    Attributes:
        injected: What was done to connections, by kind.
        links: Connections that are open at the bot's end, or were until the path died.
    """

    def __init__(self, host_port: int, rng: random.Random, delay_s: float = 0.0, jitter_s: float = 0.0) -> None:
        """Every piece of data takes *delay_s* and up to *jitter_s* more; their order stays."""
        self.injected: Counter[str] = Counter()
        self.links: list[Link] = []
        self._host_port = host_port
        self._rng = rng
        self._delay_s = delay_s
        self._jitter_s = jitter_s

    def cut(self, link: Link) -> None:
        """Both ends are told that the connection is over."""
        self.injected["cut"] += 1
        self._forget(link)

    def half_open(self, link: Link, *directions: str) -> None:
        """Nothing comes through any more in *directions*, and nobody is told, not even that an end has gone."""
        for direction in directions:
            link.dead[direction].set()
        self.injected[f"half-open, nothing {' nor '.join(directions)}"] += 1

    def close(self) -> None:
        """End everything."""
        for link in list(self.links):
            self._forget(link)

    def _forget(self, link: Link) -> None:
        link.abort()
        if link in self.links:
            self.links.remove(link)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection to its end."""
        link = Link()
        link.writers.append(writer)
        self.links.append(link)
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._host_port)
        except OSError:  # the host is gone
            self._forget(link)
            return
        link.writers.append(to_writer)
        link.tasks = [
            asyncio.create_task(self._pass(link, TO_HOST, reader, to_writer)),
            asyncio.create_task(self._pass(link, TO_BOT, to_reader, writer)),
        ]
        await asyncio.wait(link.tasks, return_when=asyncio.FIRST_COMPLETED)
        # An end of a connection whose path has died is not told to the other.
        if not link.healthy:
            await asyncio.wait(link.tasks)
        self._forget(link)

    async def _pass(
        self, link: Link, direction: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            data = b"-"
            while data:
                try:
                    data = await reader.read(CHUNK)
                except OSError:
                    data = b""
                late = self._delay_s + self._rng.random() * self._jitter_s
                if late:
                    self.injected["delayed pieces"] += 1
                waiting.put_nowait((loop.time() + late, data))

        reading = asyncio.create_task(read())
        try:
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if link.dead[direction].is_set():
                    await asyncio.Event().wait()  # until the link is forgotten
                if not data:
                    return
                writer.write(data)
                await writer.drain()
        except OSError:
            return
        finally:
            reading.cancel()


@asynccontextmanager
async def between(
    host_port: int, rng: random.Random, delay_s: float = 0.0, jitter_s: float = 0.0
) -> AsyncIterator[tuple[Proxy, int]]:
    """A proxy before the host at *host_port*, and its own port."""
    proxy = Proxy(host_port, rng, delay_s, jitter_s)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    try:
        yield proxy, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        proxy.close()
        await server.wait_closed()
