#!/usr/bin/env -S python3 -IS
"""Lets the server run a tool as if this process had run it. Links to this file have the names of the tools, and stand
beside the socket of the server.

Variables that Python reads when it starts, such as PYTHONPATH, are the server's.
"""

import marshal
import os
import socket
import sys

server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(os.path.join(os.path.dirname(sys.argv[0]), "socket"))
socket.send_fds(server, [marshal.dumps((sys.argv, dict(os.environ), os.getcwd()))], [0, 1, 2])
status = marshal.loads(server.recv(64))
if status < 0:
    os.kill(os.getpid(), -status)
os._exit(status)
