"""How calls behave in a Python process: threads, interrupts, memory, time."""

from __future__ import annotations

import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import headscope
from headscope import _native
from headscope._progress import Bar


def slow_work() -> Any:
    """About a second of native work."""
    maps = np.random.default_rng(0).random((24, 160, 160), dtype=np.float32)
    return headscope.organize(maps, iterations=6)


def test_other_threads_compute_during_a_call(model: headscope.Model) -> None:
    spans: list[tuple[float, float]] = []

    def work() -> None:
        begin = time.monotonic()
        slow_work()
        spans.append((begin, time.monotonic()))

    thread = threading.Thread(target=work)
    thread.start()
    calls: list[float] = []
    while thread.is_alive():
        model.weights(0, "Q")  # native work too
        calls.append(time.monotonic())
    thread.join()
    begin, end = spans[0]
    middle = [at for at in calls if begin + 0.1 * (end - begin) < at < begin + 0.9 * (end - begin)]
    assert len(middle) > 20, f"{len(middle)} calls in {end - begin:.2f} s"


def test_ctrl_c_stops_native_work_and_the_next_call_works(model: headscope.Model) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins with it ignored
    maps = np.random.default_rng(0).random((24, 160, 160), dtype=np.float32)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        headscope.organize(maps, iterations=100000)
    assert time.monotonic() - begin < 10
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert len(headscope.relate(model).edges) > 0


def test_progress_is_told_and_may_stop_the_work() -> None:
    maps = np.random.default_rng(0).random((24, 160, 160), dtype=np.float32)
    heard: list[tuple[str, float]] = []

    def tell(what: str, share: float) -> None:
        heard.append((what, share))
        if len(heard) == 3:
            raise RuntimeError("enough")

    request = _native.Request("organize")
    request.give_maps(maps, "")
    request.set("iterations", 100000)
    with pytest.raises(RuntimeError, match="enough"):
        request.run(tell, None)
    assert [what for what, _ in heard] == ["organizing"] * 3


def test_a_bar_is_drawn_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    for wanted, drawn in ((True, True), (False, False), (None, False)):  # None: nobody looks at a captured stream
        bar = Bar(wanted)
        bar("organizing", 0.1)
        time.sleep(1.1)
        bar("organizing", 0.5)
        bar.close()
        assert ("organizing" in capsys.readouterr().err) == drawn


def test_progress_is_in_percent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def watch(bar: Bar) -> str:
        bar._shown = None
        for share in (0.0, 0.25, 0.26, 0.51, 0.999, 1.0):
            bar("organizing", share)
            if share == 0.0:
                time.sleep(1.1)
        bar.close()
        return capsys.readouterr().err

    assert " 25 %|" in watch(Bar(True))
    # Without tqdm: lines in a file, one line that changes on a terminal.
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert watch(Bar(True)).splitlines() == [f"organizing: {percent} %" for percent in (25, 51, 99, 100)]
    monkeypatch.setattr("headscope._progress._has_viewer", lambda: True)
    written = watch(Bar(None))
    assert written.startswith("\rorganizing: 25 %\rorganizing: 26 %\rorganizing: 51 %")
    assert written.endswith("\r" + " " * len("organizing: 100 %") + "\r")
    # Work that takes less than a second is not shown.
    quick = Bar(None)
    quick("organizing", 0.5)
    quick.close()
    assert capsys.readouterr().err == ""


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_a_thousand_calls_leak_nothing(model: headscope.Model, captured: headscope.Capture) -> None:
    maps = np.random.default_rng(0).random((2, 8, 8), dtype=np.float32)

    def calls(n: int) -> None:
        for i in range(n):
            relation = headscope.relate(model, pairs="OQ", draws=2)
            relation.affinity()
            model.weights(0, "V")
            with pytest.raises(ValueError, match="XY"):
                headscope.relate(model, pairs="XY")
            if i % 10 == 0:
                headscope.organize(maps, iterations=1, draws=2)
                headscope.capture(model, ids=[1, 2, 3, 1, 2])
                headscope.prune(model, ids=[1, 2, 3, 1, 2], criteria="norm", count=2)
            if i % 100 == 0:
                relation._repr_html_()

    calls(100)
    before = resident()
    calls(1000)
    assert resident() - before < 8 << 20, f"{(resident() - before) / 1e6:.1f} MB"


def test_nothing_is_left_when_the_interpreter_ends(model_path: str) -> None:
    program = f"""
import numpy as np, headscope
model = headscope.load({model_path!r})
kept = [headscope.relate(model).affinity(), model.weights(0, "Q"), headscope.capture(model, ids=[1, 2, 3, 1, 2])]
try:
    headscope.relate(model, pairs="XY")
except ValueError as error:
    kept.append(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # nanobind tells of leaked objects there


def test_a_call_costs_less_than_a_millisecond(model: headscope.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def best(call: Any, n: int = 200) -> float:
        times = []
        for _ in range(n):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        return min(times)

    # Everything around the work itself: parameters become a request, and its outcome a result.
    class Instant(_native.Request):
        def run(self, progress: Any, log: Any) -> Any:
            return outcome

    request = _native.Request("relate")
    request.give_model(model._native)
    outcome = request.run(None, None)
    monkeypatch.setattr(_native, "Request", Instant)
    seconds = best(lambda: headscope.relate(model, top=5))
    print(f"{seconds * 1e6:.0f} us")
    assert seconds < 1e-3


def test_numpy_keeps_its_threads() -> None:
    program = """
import numpy, threadpoolctl
mine = lambda: sorted((one["filepath"], one["num_threads"]) for one in threadpoolctl.threadpool_info()
                      if "numpy" in one["filepath"])
before = mine()
import headscope
assert before and mine() == before, (before, mine())
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_openblas_is_its_own_and_knows_the_processor() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    program = """
import headscope, os, threadpoolctl
package = os.path.dirname(headscope.__file__)
own = [one for one in threadpoolctl.threadpool_info() if one["filepath"].startswith(package)]
assert len(own) == 1 and own[0]["num_threads"] == 1, threadpoolctl.threadpool_info()
assert own[0]["architecture"] != "Prescott"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no warning, on any processor


@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels of other processors have other names")
def test_says_that_products_are_slow() -> None:
    # What OpenBLAS takes for a processor that is younger than itself.
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott"}
    done = subprocess.run([sys.executable, "-c", "import headscope"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "RuntimeWarning: OpenBLAS does not know this processor" in done.stderr
    assert "set OPENBLAS_CORETYPE=" in done.stderr


def test_numpy_is_a_new_one() -> None:
    assert int(np.__version__.split(".")[0]) >= 2
