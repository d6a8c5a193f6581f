"""Runs every benchmark and writes benchmarks/results.md: our time beside its floor and its peer, in one run.

Usage: python benchmarks/run.py [--only NAME | --replace NAME]. Needs the programs that `make bench` builds (`make
bench-mpi` for mpi). Sections of machines that are not always at hand are measured by --replace alone, and kept otherwise.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import (
    HEADSCOPE,
    PEER_PYTHON,
    PROGRAMS,
    ROOT,
    json_lines,
    machine_line,
    make_checkpoint,
    measured,
    run,
    table,
)
from ranks import mpi_section

RESULTS = ROOT / "benchmarks/results.md"


def inspect_section(work: Path) -> str:
    rows = []
    for preset in ("gpt2-small", "llama-3-8b", "llama-3-70b", "qwen3-235b-a22b", "gpt-oss-120b", "deepseek-v3"):
        model = make_checkpoint(work / preset, "--preset", preset, "--dtype", "BF16", "--shard-size", "5GB", "--sparse")
        size = sum(path.stat().st_size for path in model.glob("*.safetensors"))
        seconds, megabytes = measured([HEADSCOPE, "inspect", model])
        rows.append([preset, f"{size / 1e9:.1f} GB", f"{seconds * 1e3:.0f} ms", f"{megabytes:.0f} MB"])
    return (
        "## inspect\n\nWhole process, headers only. Bound for the 8B shape: 1 s and 100 MB resident.\n\n"
        + table(["model", "on disk", "time", "peak memory"], rows)
    )


def load_section(work: Path) -> str:
    rows = []
    for preset, dtype in (("gpt2-small", "F32"), ("gpt2-small", "BF16"), ("pythia-160m", "F32"), ("bert-base", "F32")):
        model = make_checkpoint(work / f"load-{preset}-{dtype}", "--preset", preset, "--dtype", dtype, "--seed", "1")
        for line in json_lines(PROGRAMS / "bench_load", model):
            rows.append(
                [
                    f"{preset} {dtype}",
                    line["weights"],
                    str(line["threads"]),
                    f"{line['bytes'] / 1e6:.0f} MB",
                    f"{line['ours'] * 1e3:.1f} ms",
                    f"{line['floor'] * 1e3:.1f} ms",
                    f"{line['ratio']:.2f}",
                ]
            )
    return (
        "## Loading the heads\n\nAll Q, K, V and O of a model as floats, one layer at a time, from the page cache. The "
        "floor copies and converts the same bytes in a plain loop on one thread, in file order, into one buffer, "
        "without transposing or looking for NaN. Bound for GPT-2 small, all threads, raw: 1.5.\n\n"
        + table(["model", "weights", "threads", "read", "ours", "floor", "ours / floor"], rows)
    )


def relate_section(work: Path) -> str:
    model = make_checkpoint(work / "relate-gpt2", "--preset", "gpt2-small", "--seed", "1")
    ours = json_lines(PROGRAMS / "bench_relate", model, "7")[0]
    peer = json.loads(run(sys.executable, ROOT / "benchmarks/peer_relate.py", model))
    lens = json.loads(run(PEER_PYTHON, ROOT / "benchmarks/peer_lens.py", model, str(ours["threads"])))
    rows = [
        ["ours, isotropic null", f"{ours['ours']:.2f} s", f"{ours['gflop'] / ours['ours']:.0f} GFLOP/s"],
        ["ours, all three nulls", f"{ours['all_nulls']:.2f} s", ""],
        ["floor: raw sgemm for the flops kept", f"{ours['product']:.2f} s", f"{ours['gflop'] / ours['product']:.0f} GFLOP/s"],
        ["floor: LAPACK's sgeqrf + sorgqr", f"{ours['qr']:.2f} s", ""],
        ["NumPy: QR, stack, all pairs", f"{peer['numpy']:.2f} s", ""],
        ["NumPy: an SVD a head, tiles", f"{peer['svd']:.2f} s", ""],
        [f"TransformerLens {lens['version']}", f"{lens['lens']:.2f} s", ""],
    ]
    return (
        f"## relate\n\nGPT-2 small's shape, OQ + OK + OV, earlier to later ({ours['gflop']:.0f} GFLOP), {ours['threads']} "
        "threads, from the file to edges, graph and hubs. Ours over the two floors together: "
        f"**{ours['ratio']:.2f}** (bound 1.35); NumPy over ours: **{peer['numpy'] / ours['ours']:.2f}** (bound 2.5); "
        f"TransformerLens over ours: **{lens['lens'] / ours['ours']:.2f}** (bound 1.6). The peers compute all pairs and their "
        "time does not count loading the file.\n\n" + table(["", "time", "rate"], rows)
    )


def scaling_section(work: Path) -> str:
    # Llama-3-8B's attention; what relate does not look at is small.
    small = ("--d-mlp", "256", "--vocab", "1000")
    model = make_checkpoint(work / "scaling", "--preset", "llama-3-8b", *small, "--shard-size", "1GB", "--seed", "1")
    lines = [json_lines(PROGRAMS / "bench_scaling", model, str(layers))[0] for layers in (4, 8, 16, 32)]
    rows = [
        [
            str(line["layers"]),
            f"{line['flops'] / 1e12:.2f}",
            f"{line['bytes'] / 1e6:.0f} MB",
            f"{line['seconds']:.1f} s",
            f"{line['flops'] / line['seconds'] / 1e9:.0f}",
            f"{line['raw_rate'] / 1e9:.0f}",
            f"{line['seconds'] / line['flops'] * 1e12:.2f} s",
            f"{line['processor'] / line['flops'] * 1e12:.2f} s",
            f"{line['peak'] / 1e9:.2f} GB",
        ]
        for line in lines
    ]
    peak = max(line["peak"] for line in lines)
    header = ["layers", "kept TFLOP", "weights read", "time", "GFLOP/s", "raw sgemm GFLOP/s", "time a TFLOP",
              "processor time a TFLOP", "peak memory"]  # fmt: skip
    return (
        "## relate, how it grows\n\nLlama-3-8B's attention (32 layers, 32 heads and 8 KV heads of 128, width 4096, BF16), OK, "
        f"earlier to later, {lines[0]['threads']} threads, from the file to edges, graph and hubs; the first layers, up to all "
        "of them. The time a TFLOP stays the same where the time is linear in the flops kept; few layers pay for the QR of "
        "every head. Where others use the machine, the raw product before and after each row and the processor time, that of "
        "all threads added up, tell how much of the time was theirs. Largest "
        f"peak: **{peak / 1e9:.2f} GB**, bound 3 GB{'' if peak < 3e9 else ': not met'}.\n\n" + table(header, rows)
    )


def capture_section(work: Path) -> str:
    model = make_checkpoint(work / "capture-gpt2", "--preset", "gpt2-small", "--seed", "1")
    tokens, rounds = 512, 7
    # In turns, so that a busy minute of the machine falls on both.
    ours, peers = [], []
    for _ in range(3):
        ours.append(json_lines(PROGRAMS / "bench_capture", model, str(tokens), str(rounds))[0])
        threads = str(ours[-1]["threads"])
        peers.append(json.loads(run(PEER_PYTHON, ROOT / "benchmarks/peer_capture.py", model, str(tokens), threads, str(rounds))))
    one = min(ours, key=lambda line: line["ours"])
    peer = min(peers, key=lambda line: line["median"])
    rows = [
        ["ours: scores, patterns, logits", f"{one['ours']:.2f} s", f"{one['gflop'] / one['ours']:.0f} GFLOP/s"],
        ["our products alone", f"{one['products']:.2f} s", f"{one['gflop'] / one['products']:.0f} GFLOP/s"],
        ["floor: raw sgemm of the same shapes", f"{one['raw']:.2f} s", f"{one['gflop'] / one['raw']:.0f} GFLOP/s"],
        [f"{peer['versions']}: patterns, logits", f"{peer['median']:.2f} s", f"{one['gflop'] / peer['median']:.0f} GFLOP/s"],
    ]
    return (
        f"## capture\n\nGPT-2 small's shape, {tokens} tokens, {one['threads']} threads, both maps of every head kept in "
        f"memory. GFLOP counts the products with weights ({one['gflop']:.0f}). PyTorch eager with output_attentions over "
        f"ours: **{peer['median'] / one['ours']:.2f}** (bound 1); our products reach **{100 * one['share']:.0f} %** of raw "
        "sgemm (bound 80 %).\n\n" + table(["", "time", "rate"], rows)
    )


def patch_section(work: Path) -> str:
    run(sys.executable, ROOT / "tools/fetch_models.py", "smollm2")
    model = Path(run(sys.executable, ROOT / "tools/fetch_models.py", "--path", "smollm2").strip())
    shape = json.loads(run(HEADSCOPE, "inspect", model, "--json"))
    ids, edges, first = work / "ids.npy", work / "edges.csv", "33"
    sizes = [str(shape[name]) for name in ("layers", "heads", "kv_heads")]
    run(sys.executable, ROOT / "benchmarks/patch_edges.py", *sizes, "49152", ids, edges)
    # In turns, so that a busy minute of the machine falls on all.
    ours = []
    peers: dict[str, list[dict]] = {"plain": [], "careful": []}
    for _ in range(2):
        ours.append(json_lines(PROGRAMS / "bench_patch", model, ids, edges, first, "3")[0])
        threads = str(ours[-1]["threads"])
        for kind, found in peers.items():
            script = ROOT / "benchmarks/peer_patch.py"
            found.append(json.loads(run(PEER_PYTHON, script, kind, model, ids, edges, first, threads)))
    one = min(ours, key=lambda line: line["batched"])
    plain, careful = (min(found, key=lambda line: line["cut"]) for found in peers.values())
    screen = min(line["screen_ratio"] for line in ours)
    cut = min(line["cut_ratio"] for line in ours)
    apart = max(
        abs(a - b) for peer in (plain, careful) for a, b in zip(one["effects"], peer["effects"], strict=True)
    )
    cuts = one["cuts"]

    def peer_row(title: str, peer: dict) -> list[str]:
        return [f"{title}, one at a time", f"{peer['cut'] * cuts:.1f} s ({peer['cut'] * 1e3:.0f} ms per cut)"]

    def faster(peer: dict) -> str:
        ratio = peer["cut"] * cuts / one["batched"]
        return f"**{ratio:.2f}** (bound 2{'' if ratio >= 2 else ': not met'})"

    rows = [
        ["screen of 65 tokens, three roles", f"{one['screen']:.2f} s"],
        ["relate on the same pairs", f"{one['relate']:.2f} s"],
        [f"{cuts} cuts on 4 x 65 tokens, in batches", f"{one['batched']:.1f} s ({one['batched'] / cuts * 1e3:.0f} ms per cut)"],
        peer_row(f"the same in {plain['versions']}, plain", plain),
        peer_row("the same, careful", careful),
        ["eight of them one at a time", f"{one['cut']:.2f} s"],
        ["the layers from their targets on, without a cut", f"{one['layers']:.2f} s"],
    ]
    return (
        f"## patch\n\nSmolLM2-135M (Q4_1), {one['threads']} threads, layers below a cut shared. Screen over relate: "
        f"**{screen:.2f}** (bound 3); a single cut over the remaining layers: **{cut:.2f}** (bound 1.3); PyTorch over ours, all "
        f"{cuts} cuts: plain {faster(plain)}, careful {faster(careful)}. The effects of all cuts differ by at most "
        f"{apart:.1e} nats. PyTorch computes in float32 on decoded weights; loading and recording are not counted. Plain: "
        "hooks on transformers with eager attention, logits at all positions. Careful: sdpa, and only the logits that "
        "count.\n\n"
        + table(["", "time"], rows)
    )


def organize_section(work: Path) -> str:
    rows = []
    lines = []
    for heads, side, rounds in ((128, 256, 5), (144, 1024, 1)):
        line = json_lines(PROGRAMS / "bench_organize", str(heads), str(side), str(side), str(rounds))[0]
        lines.append(line)
        rows.append(
            [
                line["shape"],
                f"{line['seconds']:.2f} s",
                f"{line['processor_seconds']:.2f} s",
                f"{line['floor']:.2f} s",
                f"{line['megabytes']:.0f} MB",
            ]
        )
    first = lines[0]
    haar = [["keys (contiguous)", "haar_key"], ["queries", "haar_query"], ["heads", "haar_head"]]
    return (
        f"## organize\n\nThe questionnaire on three axes, three iterations with scores, {first['threads']} threads. The "
        "floor is the maxima of its distances alone, in a loop that never leaves the registers. Bounds: 0.5 s for the "
        "first, 60 s and 6 GB for the second.\n\n"
        + table(["queries x keys x heads", "time", "processor time", "floor", "peak memory"], rows)
        + f"\n\nThe kernel of the distances reaches {first['kernel_rate'] / 1e9:.1f} G maxima a second on one thread, "
        f"**{first['kernel_rate'] / first['register_rate']:.0%}** of the register loop (bound 60 %). A Haar transform of one "
        "axis of 64 x 1024 x 1024 floats, as a share of the bandwidth of copying them (bound 50 %):\n\n"
        + table(["axis", "share"], [[name, f"{1 / first[key]:.0%}"] for name, key in haar])
    )


def packages_section(work: Path) -> str:
    """Needs `make python` and `make dist`."""
    model = make_checkpoint(work / "packages-gpt2", "--preset", "gpt2-small", "--seed", "1")
    python = ROOT / ".venv-python/bin/python"
    options = ["--earlier-only", "--tokens-for", "none", "--quiet", "--force"]
    in_python = (
        "import headscope, sys, time; begin = time.monotonic(); "
        "headscope.relate(sys.argv[1], earlier_only=True, tokens_for='none'); print(time.monotonic() - begin)"
    )
    (unpacked,) = (ROOT / "build/dist").glob("headscope-*/bin/headscope")
    programs = {"build/headscope": HEADSCOPE, "the wheel's command": python.parent / "headscope", "the tarball's": unpacked}
    times: dict[str, list[float]] = {}
    for _ in range(7):  # in turns
        for name, program in programs.items():
            begin = time.monotonic()
            run(program, "relate", model, "-o", work / f"packages-{program.parent.name}", *options)
            times.setdefault(name, []).append(time.monotonic() - begin)
        times.setdefault("headscope.relate in Python", []).append(float(run(python, "-c", in_python, model)))
    best = {name: min(values) for name, values in times.items()}
    rows = [[name, f"{seconds:.2f} s", f"{seconds / best['build/headscope']:.2f}"] for name, seconds in best.items()]
    wheel = max(best["the wheel's command"], best["headscope.relate in Python"]) / best["build/headscope"]
    return (
        "## Packages\n\n`relate` on GPT-2 small's shape, OQ + OK + OV, all nulls, from the file to the results, as each package "
        f"has it; best of 7, in turns. {machine_line()} The wheel over the program: **{wheel:.2f}** (bound 1.05). The program "
        "is linked with Debian's OpenBLAS, the packages with that of scipy-openblas32.\n\n"
        + table(["", "time", "over the program"], rows)
    )


def page_section(work: Path) -> str:
    """Needs web/node_modules and Chromium."""
    pages = json_lines("node", ROOT / "benchmarks/page.mjs", work)
    # Interactions and their bounds in ms.
    bounds = {"wiring": 20, "matrix": 20, "grid": 20, "drag": 50, "zoom": 50, "slider": 100}
    names = {
        "wiring": "pointer over the wiring",
        "matrix": "pointer over the matrix",
        "grid": "pointer over the grid of heads",
        "drag": "drag of the zoomed wiring",
        "zoom": "zoom of the wiring",
        "slider": "slider of the max edges, up to 600",
    }
    rows = [
        ["first tab", *(f"{page['ready'] / 1e3:.2f} s (bound {2 if page['heads'] <= 1024 else 5} s)" for page in pages)],
        ["all tabs", *(f"{page['complete'] / 1e3:.2f} s" for page in pages)],
        ["size of the file", *(f"{page['megabytes']:.1f} MB" for page in pages)],
    ]
    for name, bound in bounds.items():
        cells = [
            f"{page[name]['median']:.1f} ms, {page[name]['slow']:.1f} ms (bound {bound} ms"
            f"{'' if page[name]['median'] < bound else ': not met'})"
            if name in page
            else ""
            for page in pages
        ]
        rows.append([names[name], *cells])
    return (
        "## The page\n\nThe page of `report` in Chromium without a GPU, 1440 x 900. Load: from navigation, best of 5. "
        "Interactions: processor time of the main thread from the event to its frame, median (which the bounds are for) and "
        "95th percentile, with all 600 kept edges; moves of the pointer count if they change what is highlighted; an idle "
        f"frame takes {pages[0]['idle']['median']:.1f} ms of it. A page has no room for matrices of 5,120 heads: its matrix is that of the 64 heads with maps. {machine_line()}\n\n"
        + table(["", *(f"{page['heads']:,} heads" for page in pages)], rows)
    )


# Measured by --replace alone.
APART: dict[str, Callable[[Path], str]] = {"mpi": mpi_section, "packages": packages_section}

SECTIONS: dict[str, Callable[[Path], str]] = {
    "inspect": inspect_section,
    "load": load_section,
    "relate": relate_section,
    "scaling": scaling_section,
    "capture": capture_section,
    "patch": patch_section,
    "organize": organize_section,
    "page": page_section,
}


def sections_of(text: str) -> list[str]:
    return [part.rstrip() for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]]


def with_section(text: str, section: str) -> str:
    """The text with that section in place of the one of the same heading, or at the end."""
    parts = sections_of(text)
    heading = section.splitlines()[0]
    places = [i for i, part in enumerate(parts) if part.splitlines()[0] == heading] or [len(parts)]
    parts[places[0] : places[0] + 1] = [section]
    return text.split("\n## ")[0].rstrip() + "\n\n" + "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = {**SECTIONS, **APART}
    parser.add_argument("--only", choices=known, help="print this section instead of writing all")
    parser.add_argument("--replace", choices=known, help="measure and write this section, and keep the others")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        if arguments.only or arguments.replace:
            section = known[arguments.only or arguments.replace](Path(work))
            print(section)
            if arguments.replace:
                RESULTS.write_text(with_section(RESULTS.read_text(), section))
            return
        parts = [section(Path(work)) for section in SECTIONS.values()]
    written = {part.splitlines()[0] for part in parts}
    parts += [part for part in sections_of(RESULTS.read_text()) if part.splitlines()[0] not in written]
    text = f"# Benchmarks\n\nWritten by `make bench`. {machine_line()}\n\n" + "\n\n".join(parts) + "\n"
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
