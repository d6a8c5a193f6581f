"""Writes tails.csv: natural logarithms of upper tail probabilities by mpmath. No random numbers.

    pip install mpmath && python make_tails.py
"""

from pathlib import Path

import mpmath as mp

mp.mp.dps = 40
DEVIATIONS = (-3, -0.5, 0, 0.1, 1, 3, 6, 12, 50)


def integral(density, mode, x, end, deviation):
    """The integral of a density from x to end, in pieces of a few deviations around its largest value."""
    start = max(x, mode)
    steps = (start + k * deviation for k in (0.5, 1, 2, 4, 8, 16, 32))
    points = sorted({x, start, end} | {step for step in steps if step < end})
    return mp.quad(density, points)


def beta(x, a, b):
    log_b = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    mean = a / (a + b)
    deviation = mp.sqrt(mean * (1 - mean) / (a + b + 1))
    scale = (a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x)
    # Far in the tail the density falls much faster than the law's deviation.
    slope = abs((a - 1) / x - (b - 1) / (1 - x))
    width = min(deviation, 1 / slope) if slope else deviation
    value = integral(lambda t: mp.exp((a - 1) * mp.log(t) + (b - 1) * mp.log(1 - t) - scale), x, x, mp.mpf(1), width)
    return mp.log(value) + scale - log_b


def gamma(x, shape):
    scale = (shape - 1) * mp.log(x) - x
    slope = abs((shape - 1) / x - 1)
    width = min(mp.sqrt(shape), 1 / slope) if slope else mp.sqrt(shape)
    value = integral(lambda t: mp.exp((shape - 1) * mp.log(t) - t - scale), x, x, mp.inf, width)
    return mp.log(value) + scale - mp.loggamma(shape)


def normal(x):
    return mp.log(mp.erfc(x / mp.sqrt(2)) / 2)


def main() -> None:
    rows = ["law,x,a,b,log"]
    for x in (-8, -1, 0, 0.5, 1.959963984540054, 10, 24.9, 25.1, 136, 1000):
        rows.append(f"normal,{x!r},0,0,{float(normal(mp.mpf(x)))!r}")
    for a, b in ((1.5, 1.5), (1, 9), (2, 30), (3.25, 1.75), (32, 352), (2200, 24600), (1e5, 1e6)):
        mean = mp.mpf(a) / (mp.mpf(a) + b)
        deviation = mp.sqrt(mean * (1 - mean) / (mp.mpf(a) + b + 1))
        for z in DEVIATIONS:
            x = float(mean + z * deviation)
            if 0 < x < 1:
                rows.append(f"beta,{x!r},{a!r},{b!r},{float(beta(mp.mpf(x), mp.mpf(a), mp.mpf(b)))!r}")
    for shape in (1.5, 4, 100, 4e4):
        for z in DEVIATIONS:
            x = float(shape + z * mp.sqrt(shape))
            if x > 0:
                rows.append(f"gamma,{x!r},{shape!r},0,{float(gamma(mp.mpf(x), mp.mpf(shape)))!r}")
    Path(__file__).with_name("tails.csv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
