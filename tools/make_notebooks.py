"""make_notebooks.py [NOTEBOOK...]: runs the example notebooks and keeps what they show, in a form that fits into git.

Runs with the Python that has headscope and tests/python/requirements.txt ('make notebooks'). Figures are small pictures
with few colors; a page of a result, megabytes of HTML, is left to its text; progress, times and places of this machine
are dropped. tests/python/test_examples.py runs the notebooks again and compares.
"""

from __future__ import annotations

import base64
import io
import math
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from PIL import Image

ROOT = Path(__file__).parents[1]
#: More HTML than a table has: a page.
LARGEST_HTML = 20_000
COLORS = 32
WIDGET = "application/vnd.jupyter.widget-view+json"
#: Runs before the first cell and is not kept.
SETUP = """
%matplotlib inline
import matplotlib
matplotlib.rcParams["figure.dpi"] = 60
"""
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
SECONDS = re.compile(r"\b\d+(\.\d+)? (s|ms|min)\b")


def notebooks() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook with all outputs."""
    document = nbformat.read(path, as_version=4)
    document.cells.insert(0, nbformat.v4.new_code_cell(SETUP))
    client = nbclient.NotebookClient(document, timeout=300, resources={"metadata": {"path": str(path.parent)}})
    client.execute()
    del document.cells[0]
    return document


def small(png: str) -> str:
    """The same picture in few colors, without notes about what drew it."""
    image = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    return base64.b64encode(stream.getvalue()).decode() + "\n"


def without_places(text: str) -> str:
    """A text without the names of folders of this machine."""
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/tmp\w+", "run", text)
    return text.replace(str(ROOT), "headscope")


def kept(output: Any) -> Any | None:
    """An output as it is stored; None for one that is not."""
    if output.output_type == "stream":
        return None if output.name == "stderr" else nbformat.from_dict({**output, "text": without_places(output.text)})
    text = output.data.get("text/plain", "")
    if WIDGET in output.data and not text.startswith("<headscope"):
        return None  # a bar of progress
    data = {}
    for kind, value in output.data.items():
        if kind == "image/png":
            data[kind] = small(value)
        elif kind in ("text/plain", "text/html", "text/markdown") and len(value) <= LARGEST_HTML:
            data[kind] = without_places(value)
    changed = {**output, "data": data, "metadata": {}}
    if "execution_count" in changed:
        changed["execution_count"] = None
    return nbformat.from_dict(changed)


def cleaned(document: Any) -> Any:
    """The notebook as it is stored."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    for cell in document.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = [one for output in cell.outputs if (one := kept(output)) is not None]
            cell.execution_count = None
    return document


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ at most in last digits, and in how long something took."""
    one, other = SECONDS.sub("", one), SECONDS.sub("", other)
    if NUMBER.sub("#", one).split() != NUMBER.sub("#", other).split():
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=0.02, abs_tol=1e-6) for a, b in pairs)


def difference(stored: Any, found: Any) -> str | None:
    """What is out of date in a stored notebook, in words; None if nothing is."""
    for i, (one, other) in enumerate(zip(stored.cells, found.cells, strict=True)):
        if one.cell_type != "code":
            continue
        if len(one.outputs) != len(other.outputs):
            return f"cell {i} has {len(one.outputs)} outputs, expected {len(other.outputs)}"
        for mine, theirs in zip(one.outputs, other.outputs, strict=True):
            if mine.output_type == "stream":
                if not same_text(mine.text, theirs.get("text", "")):
                    return f"cell {i} prints {theirs.get('text')!r}, not {mine.text!r}"
                continue
            if set(mine.data) != set(theirs.get("data", {})):
                return f"cell {i} shows {', '.join(theirs.get('data', {}))}, not {', '.join(mine.data)}"
            for kind, value in mine.data.items():
                if kind.startswith("text/") and not same_text(value, theirs.data[kind]):
                    return f"cell {i} shows {theirs.data[kind]!r}, not {value!r}"
    return None


def main(paths: list[str]) -> None:
    for path in map(Path, paths) if paths else notebooks():
        document = cleaned(executed(path))
        nbformat.write(document, path)
        print(f"{path}: {len(document.cells)} cells, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
