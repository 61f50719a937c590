"""What every test process needs before anything else."""

from __future__ import annotations

import signal

# A shell that runs the tests in the background ignores SIGINT for them, and programs started by the tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
