"""quickstart.py MODEL RUN: which heads of a model talk to which, written to the folder RUN."""

from __future__ import annotations

import sys

import numpy as np

import headscope


def main(model_path: str, run: str) -> None:
    model = headscope.load(model_path)
    print(model)

    relation = headscope.relate(model, top=5)
    for edge in relation.edges:
        faint = "" if edge["beyond_chance"] else "  (not beyond chance)"
        print(f"{edge['pair']} {edge['source']} -> {edge['target']}  pk {edge['score']:.2f}{faint}")
    for hub in relation.hubs:
        if hub["significant"]:
            print(f"hub: {hub['head']} (p {hub['p_family']:.2g}) - {hub['reason']}")
    print("mean affinity:", float(np.nanmean(relation.affinity("OQ"))))

    detection = headscope.detect(model, sequences=4)
    print("induction heads:", ", ".join(detection.heads("induction")))

    relation.save(run)
    detection.save(run)
    print("saved:", headscope.open(run))


if __name__ == "__main__":
    main(*sys.argv[1:])
