"""The Python lines of the README with an installed wheel. Run by tools/test_packages.sh, with matplotlib or without."""

import importlib.util
import subprocess
import sys
from pathlib import Path

IMPORT_SECONDS = 0.3

# The best of some: the first one compiles the sources, and machines are shared.
program = "import time; begin = time.perf_counter(); import headscope; print(time.perf_counter() - begin)"
times = [float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(5)]
assert min(times) < IMPORT_SECONDS, times

import headscope  # noqa: E402

model = Path(headscope.__file__).parent / "share/headscope/models/demo"
relation = headscope.relate(model)
assert list(relation.edges["rank"][:3]) == [1, 2, 3]
if importlib.util.find_spec("matplotlib"):
    relation.plot()
if importlib.util.find_spec("anywidget"):
    assert headscope.view(relation).selected_heads == []
else:
    missing = ""
    try:
        headscope.view(relation)
    except ImportError as error:
        missing = str(error)
    assert "headscope[notebook]" in missing
captured = headscope.capture(model, ids=[[5, 6, 7, 8] * 2])
assert captured.pattern is not None and captured.pattern.shape == (32, 8, 8)
assert headscope.organize(captured).order["head"].shape == (32,)
print(f"Python {sys.version.split()[0]}: headscope {headscope.__version__}, import {min(times):.2f} s")
