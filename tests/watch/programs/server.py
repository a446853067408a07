"""An asyncio server that hangs in known places: one handler sleeps, another computes,
and one line does both by turns."""
import asyncio
import time
from functools import partial


def compute(seconds):
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
    return number


def read_slowly():
    with open("/etc/hostname") as file:
        file.read()
    time.sleep(0.4)  # line: sleep


def work(how):
    how()  # line: work


async def handle(reader, writer):
    for _ in range(4):
        request = await reader.readline()
        if request == b"sleep\n":
            read_slowly()
        elif request == b"wait\n":
            work(partial(time.sleep, 0.4))
        elif request == b"add\n":
            work(partial(sum, range(long_enough)))
        else:
            compute(0.5)  # line: compute
        writer.write(b"done\n")
        await writer.drain()
    writer.close()


def numbers_in(seconds):
    """How many numbers are added in about so long."""
    some = 4_000_000
    begin = time.monotonic()
    sum(range(some))
    return int(some * seconds / (time.monotonic() - begin))


long_enough = numbers_in(0.6)


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(20):
        await asyncio.sleep(0.01)
    for request in (b"sleep\n", b"compute\n", b"wait\n", b"add\n"):
        writer.write(request)
        await reader.readline()
        for _ in range(10):
            await asyncio.sleep(0.01)
    server.close()


asyncio.run(main())
