// The page in a frame of a notebook (anywidget): the model's `_selection` and the page's selection follow each other.
// The page cannot reach the notebook, it only posts messages (web/src/ui/parent.ts). What they say is checked here and
// again in _view.py, and none of it is put into the document.

const isName = (text) => typeof text === "string" && /^[A-Za-z0-9]{1,24}$/.test(text);
const isEdge = (text) => typeof text === "string" && /^[A-Za-z]{1,8}:[A-Za-z0-9]{1,24}>[A-Za-z0-9]{1,24}$/.test(text);

/** Returns the selection in a message of the page; null if it is none. */
function readSelection({ head, edge, pins }) {
  const valid =
    (head === null || isName(head)) &&
    (edge === null || isEdge(edge)) &&
    Array.isArray(pins) &&
    pins.length <= 6 &&
    pins.every(isName);
  return valid ? { head, edge, pins } : null;
}

const textOf = ({ head, edge, pins }) => JSON.stringify([head, edge, pins]);

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "headscope report";
  // Without allow-same-origin: the page has no origin, so it has neither the notebook's cookies nor its document.
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.style.cssText = "display:block;width:100%;border:1px solid #ccc;box-sizing:border-box";
  const resize = () => (frame.style.height = `${model.get("height")}px`);
  let ready = false;
  let shown = "";
  const send = () => {
    const selection = model.get("_selection");
    if (!ready || textOf(selection) === shown) return;
    shown = textOf(selection);
    frame.contentWindow?.postMessage({ headscope: 1, type: "select", ...selection }, "*");
  };
  const receive = ({ source, data }) => {
    if (source === null || source !== frame.contentWindow || data?.headscope !== 1) return;
    const selection = readSelection(data);
    if (!selection) return;
    if (data.type === "ready") {
      // The page may have been shown before, or Python may have selected something before it was shown.
      ready = true;
      shown = textOf(selection);
      send();
    } else if (data.type === "selection" && ready) {
      shown = textOf(selection);
      if (textOf(model.get("_selection")) === shown) return;
      model.set("_selection", selection);
      model.save_changes();
    }
  };
  window.addEventListener("message", receive);
  model.on("change:height", resize);
  model.on("change:_selection", send);
  resize();
  frame.srcdoc = model.get("_page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", receive);
    model.off("change:height", resize);
    model.off("change:_selection", send);
  };
}

export default { render };
