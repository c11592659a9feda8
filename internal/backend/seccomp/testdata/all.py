import asyncio
import multiprocessing
import os
import select
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
from multiprocessing import shared_memory


def square(x):
    return x * x


async def network():
    server = await asyncio.start_server(lambda r, w: (w.write(b"x"), w.close()), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b"x"
    child = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
    assert (await child.communicate())[0] == b"hi\n"


def files(directory):
    a, b = (os.open(os.path.join(directory, name), os.O_RDWR | os.O_CREAT) for name in "ab")
    os.write(a, b"abc")
    assert os.copy_file_range(a, b, 3, 0) == 3
    memory = os.memfd_create("memory")
    assert os.sendfile(memory, a, 0, 3) == 3
    os.mkfifo(os.path.join(directory, "fifo"))
    os.posix_fallocate(a, 0, 4096)
    os.setxattr(a, "user.x", b"1") if "user.x" in os.listxattr(a) else None
    database = sqlite3.connect(os.path.join(directory, "db"))
    database.execute("pragma journal_mode=wal")
    database.execute("create table t(x)")
    database.commit()


def processes():
    for method in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, [1, 2, 3]) == [1, 4, 9]
    memory = shared_memory.SharedMemory(create=True, size=10)
    memory.close()
    memory.unlink()
    multiprocessing.Semaphore().acquire()
    pid = os.posix_spawn("/bin/true", ["true"], os.environ)
    assert os.waitpid(pid, 0)[1] == 0
    os.close(os.pidfd_open(os.getpid()))
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    threads = [threading.Thread(target=square, args=(1,)) for _ in range(20)]
    [t.start() for t in threads]
    [t.join() for t in threads]


if __name__ == "__main__":
    asyncio.run(network())
    with tempfile.TemporaryDirectory() as directory:
        files(directory)
    processes()
    assert socket.if_nameindex()
    a, b = socket.socketpair()
    a.send(b"1")
    poll = select.epoll()
    poll.register(b, select.EPOLLIN)
    assert poll.poll(1)
    signal.setitimer(signal.ITIMER_REAL, 10)
    try:
        os.fork() or os._exit(0)
        os.unshare(os.CLONE_NEWUSER) if hasattr(os, "unshare") else socket.socket(socket.AF_VSOCK)
    except OSError:
        print("ok")
