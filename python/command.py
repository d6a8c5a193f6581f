#!python
"""The command ``headscope``: replaces itself with the program in the package, which need not be imported for that."""

import importlib.util
import os
import sys

spec = importlib.util.find_spec("headscope")
if spec is None or spec.origin is None:
    sys.exit("headscope: the Python package headscope is not installed here")
program = os.path.join(os.path.dirname(spec.origin), "bin", "headscope")
os.execv(program, sys.argv)
