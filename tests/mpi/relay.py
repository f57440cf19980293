"""relay.py NAMESPACE NAMESPACE DELAY_MS LOSS_PERCENT - a link between two network namespaces, with latency and loss.

Each gets a device "wire", whose packets are passed to the other one later, or not at all. tc's netem does the same, but
is not in every kernel. Prints "ready" once both devices are there; ends when its input does."""

import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import sys
import time

CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 0x0001, 0x1000


def open_link(namespace):
    space = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(space, CLONE_NEWNET) != 0:
        sys.exit(f"relay.py: {namespace}: {os.strerror(ctypes.get_errno())}")
    link = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(link, TUNSETIFF, struct.pack("16sH22x", b"wire", IFF_TUN | IFF_NO_PI))
    os.close(space)
    return link


def main():
    links = [open_link(name) for name in sys.argv[1:3]]
    delay, loss = float(sys.argv[3]) / 1000, float(sys.argv[4]) / 100
    waiting = collections.deque()  # (when, link, packet), in order
    passed = lost = 0
    random.seed(1)
    print("ready", flush=True)
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for ready in select.select([*links, sys.stdin], [], [], pause)[0]:
            if ready is sys.stdin:
                print(f"relay.py: {passed} packets passed, {lost} lost")
                return
            packet = os.read(ready, 65536)
            if random.random() < loss:
                lost += 1
                continue
            passed += 1
            waiting.append((time.monotonic() + delay, links[1 - links.index(ready)], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            try:
                os.write(waiting[0][1], waiting[0][2])
            except OSError:  # the device is full or gone: one more packet is lost
                pass
            waiting.popleft()


main()
