"""What all Python tests share."""

import signal

# A job in the background may begin with SIGINT ignored. The programs that tests start and interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
