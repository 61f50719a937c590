"""Preloaded first into the fork server of the parsing children: a SIGTERM for the whole process group must not end it.

The server that owns the children ends them (see ``outputs.parsing``). Nothing else belongs here.
"""

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
