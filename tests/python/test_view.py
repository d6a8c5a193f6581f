"""The page as a widget for notebooks: its selection from Python. tests/web/notebook.test.mjs has the browser's side."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import traitlets

import headscope
from conftest import IDS
from headscope import _view
from headscope._widget import View

NOTHING: dict[str, Any] = {"head": None, "edge": None, "pins": []}


@pytest.fixture(scope="module")
def relation(model: headscope.Model) -> headscope.Relation:
    return headscope.relate(model)


@pytest.fixture
def view(relation: headscope.Relation) -> View:
    return headscope.view(relation)


def browse(view: View, **selection: Any) -> None:
    """What arrives when the page posts a selection."""
    view.set_state({"_selection": {**NOTHING, **selection}})


def test_it_shows_the_page_of_the_report(relation: headscope.Relation, view: View, tmp_path: Path) -> None:
    relation.save(tmp_path / "headscope")
    headscope.report(tmp_path / "headscope", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    state = view.get_state()
    assert state["_page"].replace('<base href="about:srcdoc">', "") == page
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', state["_page"])
    assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert state["_esm"] == (Path(headscope.__file__).parent / "_view.js").read_text(encoding="utf-8")
    assert '"sandbox", "allow-scripts allow-downloads"' in state["_esm"]
    assert state["height"] == 640 and state["_selection"] == NOTHING
    # What a notebook shows.
    shown = view._repr_mimebundle_()
    assert shown is not None and "application/vnd.jupyter.widget-view+json" in shown[0]


def test_it_takes_what_report_takes(model: headscope.Model, model_path: str, captured: headscope.Capture,
                                    relation: headscope.Relation, tmp_path: Path) -> None:
    run = tmp_path / "run"
    relation.save(run)
    captured.save(run)
    heads = frozenset(model.heads)
    for source in (run, str(run), headscope.open(run), captured, [relation, captured]):
        assert headscope.view(source)._heads == heads
    titled = headscope.view(run, height=300, title="Two layers", keep="L0H1", max_data="1M", thumbnails=False)
    assert _view._data(titled._page)["title"] == "Two layers" and titled.height == 300
    with pytest.raises(headscope.FileError):
        headscope.view(tmp_path / "nothing")
    with pytest.raises(headscope.ArgumentError, match="L9H9"):
        headscope.view(run, keep=["L9H9"])


def test_heads_are_known_from_every_command(model: headscope.Model, captured: headscope.Capture) -> None:
    heads = frozenset(model.heads)
    detection = headscope.detect(model)
    organization = headscope.organize(captured, iterations=1)
    pruning = headscope.prune(model, ids=IDS, criteria="norm", write="none", protect="0.3")
    comparison = headscope.compare({"a": captured, "b": headscope.capture(model, ids=IDS[::-1])})
    for result in (detection, organization, pruning, comparison):
        assert headscope.view(result)._heads == heads
    patching = headscope.patch(model, ids=IDS, loss_from=16, pairs="OK", top=3, draws=4)
    table = patching.edges
    assert headscope.view(patching)._heads == {*table["source"], *table["target"]}


def test_the_selection_of_the_page_is_read(view: View) -> None:
    seen: list[Any] = []
    view.observe(lambda change: seen.append((change["name"], change["new"])), ["selected_heads", "selected_edge"])
    assert view.selected_heads == [] and view.selected_edge is None
    browse(view, head="L1H3", edge="OK:L0H5>L1H2", pins=["L0H7", "L1H3"])
    # The selected head, the ends of the edge, the tray; each once.
    assert view.selected_heads == ["L1H3", "L0H5", "L1H2", "L0H7"]
    assert view.selected_edge == ("OK", "L0H5", "L1H2")
    assert seen == [("selected_edge", view.selected_edge), ("selected_heads", view.selected_heads)]
    browse(view)
    assert view.selected_heads == [] and view.selected_edge is None


def test_python_selects_in_the_page(view: View) -> None:
    view.selected_heads = ["L1H3"]
    assert view._selection == {"head": "L1H3", "edge": None, "pins": []}
    view.selected_edge = ("OK", "L0H5", "L1H2")
    assert view._selection == {"head": "L1H3", "edge": "OK:L0H5>L1H2", "pins": []}
    assert view.selected_heads == ["L1H3", "L0H5", "L1H2"]
    view.selected_edge = None
    assert view.selected_heads == ["L1H3"]
    view.selected_heads = ("L0H5", "L1H2", "L0H5")
    assert view._selection == {"head": "L0H5", "edge": None, "pins": ["L0H5", "L1H2"]}
    assert view.selected_heads == ["L0H5", "L1H2"]
    view.selected_heads = "L0H1, L0H2"
    assert view.selected_heads == ["L0H1", "L0H2"]
    view.selected_edge = "OQ:L0H1>L1H4"
    assert view.selected_edge == ("OQ", "L0H1", "L1H4")
    view.selected_heads = []
    assert view._selection == NOTHING and view.selected_edge is None
    # As many as the page can show: a head, an edge and a full tray.
    browse(view, head="L1H7", edge="OK:L1H6>L1H5", pins=[f"L0H{i}" for i in range(6)])
    assert len(view.selected_heads) == 9
    view.selected_heads = list(view.selected_heads)
    assert view.selected_edge == ("OK", "L1H6", "L1H5")
    view.height = 800
    assert view.get_state()["height"] == 800


def test_an_observer_may_select_something_else(view: View) -> None:
    def widen(change: Any) -> None:
        if change["new"]:
            view.selected_heads = list(change["new"][1:])

    view.observe(widen, "selected_edge")
    browse(view, head="L1H3", edge="OK:L0H5>L1H2")
    assert view.selected_edge is None and view.selected_heads == ["L0H5", "L1H2"]
    assert view._selection == {"head": "L0H5", "edge": None, "pins": ["L0H5", "L1H2"]}


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("selected_heads", ["L9H9"], "selected_heads: the page has no head 'L9H9'; names are as in L4H7"),
        ("selected_heads", "L0H1,L2H0", "selected_heads: the page has no head 'L2H0'; names are as in L4H7"),
        ("selected_heads", [("L0H1",)], "selected_heads: the page has no head ('L0H1',); names are as in L4H7"),
        ("selected_heads", ["a\nb\u202e"], "selected_heads: the page has no head 'a\\nb\\u202e'; names are as in L4H7"),
        ("selected_heads", 3, "selected_heads: 3 is not a list of heads, e.g. ['L4H7']"),
        ("selected_heads", None, "selected_heads: None is not a list of heads, e.g. ['L4H7']"),
        ("selected_heads", [f"L0H{i}" for i in range(7)], "selected_heads: 7 heads; the page holds up to 6"),
        ("selected_edge", ("OK", "L0H5", "L9H9"), "selected_edge: the page has no head 'L9H9'; names are as in L4H7"),
        ("selected_edge", ("OK", "L0H5"), "selected_edge: ('OK', 'L0H5') is not an edge, e.g. ('OK', 'L4H7', 'L5H1')"),
        ("selected_edge", "OK:L0H5>L1H2\n", None),
        ("selected_edge", ("O:K", "L0H5", "L1H2"), None),
        ("height", "tall", "height: 'tall' is not a number of pixels from 100 to 10000"),
        ("height", 20, "height: 20 is not a number of pixels from 100 to 10000"),
    ],
)
def test_what_is_invalid_is_one_line(view: View, trait: str, value: Any, message: str | None) -> None:
    before = getattr(view, trait)
    with pytest.raises(ValueError, match=trait) as raised:
        setattr(view, trait, value)
    assert isinstance(raised.value, headscope.ArgumentError)
    assert "\n" not in str(raised.value)
    assert message is None or str(raised.value) == message
    assert getattr(view, trait) == before and view._selection == NOTHING


def test_the_browser_cannot_select_what_is_not_there(view: View) -> None:
    browse(view, head="<script>", edge="OK:L0H5", pins=["L0H1", 3, None, "L77H0", "L0H1"])
    assert view._selection == {"head": None, "edge": None, "pins": ["L0H1"]}
    assert view.selected_heads == ["L0H1"]
    browse(view, head={"name": "L0H1"}, edge=["OK"], pins="L0H1")
    assert view._selection == NOTHING
    # Edges of other components than heads are in the page, too.
    browse(view, edge="OK:L0MLP>L1H2")
    assert view.selected_edge == ("OK", "L0MLP", "L1H2") and view.selected_heads == ["L1H2"]
    for wrong in (None, 3, "L0H1", ["L0H1"]):
        with pytest.raises(traitlets.TraitError):
            view.set_state({"_selection": wrong})
    assert view.selected_heads == ["L1H2"]


def test_a_page_that_is_too_large_is_refused(relation: headscope.Relation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_view, "_LARGEST_PAGE", 500_000)
    with pytest.raises(headscope.ArgumentError, match=r"^view: the page has 1 MB, more than the 0 MB .* max_data"):
        headscope.view(relation)


def test_without_anywidget(relation: headscope.Relation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "headscope._widget")
    with pytest.raises(ImportError) as raised:
        headscope.view(relation)
    assert str(raised.value) == "headscope.view needs anywidget: pip install 'headscope[notebook]'"


def test_the_package_alone_imports_no_widgets() -> None:
    program = "import sys, headscope; print([n for n in ('anywidget', 'ipywidgets', 'traitlets') if n in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"
