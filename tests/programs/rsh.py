#!/usr/bin/python3
"""The remote shell of a world: `rsh.py serve SOCKET PLACES` runs commands at places; `rsh.py SOCKET [OPTION...] HOST COMMAND...` asks.

PLACES is JSON: the prefix of a command for each host. The one that asks hands over its own standard streams, so that a
launcher in one container starts a process in another, as ssh would.
"""
import json, os, socket, subprocess, sys, threading


def serve(path, places):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(16)
    while True:
        c = s.accept()[0]
        threading.Thread(target=run, args=(c, places), daemon=True).start()


def run(c, places):
    text, fds, _, _ = socket.recv_fds(c, 1 << 16, 3)
    ask = json.loads(text)
    p = subprocess.Popen(places[ask['host']] + ['env', '-i', *ask['env'], 'sh', '-c', ask['command']],
                         stdin=fds[0], stdout=fds[1], stderr=fds[2])
    for f in fds:
        os.close(f)
    c.sendall(bytes([p.wait() & 255]))


def ask(path, args):
    while args and args[0].startswith('-'):
        args.pop(0)
    c = socket.socket(socket.AF_UNIX)
    c.connect(path)
    keep = [f'{k}={v}' for k, v in os.environ.items()]
    text = json.dumps({'host': args[0], 'command': ' '.join(args[1:]), 'env': keep})
    socket.send_fds(c, [text.encode()], [0, 1, 2])
    sys.exit(c.recv(1)[0])


if sys.argv[1] == 'serve':
    serve(sys.argv[2], json.loads(sys.argv[3]))
ask(sys.argv[1], sys.argv[2:])
