#!/usr/bin/env python3
"""How cost grows with size: a table and an SVG for each chart, measured with the workers of compare.py.

    python3 bench/scaling.py --output bench/results [--charts products graph] [the flags of compare.py]

products    GFLOP/s of square products over their size
decode      tokens/s of GPT-2 124M over the length of the context
training    tokens/s of a GPT's training step over its width, with one and more threads
graph       nanoseconds a recorded operation (forward, backward and freeing) over the number of them
The points of a chart take turns, in the opposite order every other round; figures are medians over the rounds.
"""
import argparse
import math
import os
import statistics
import sys
import time
from xml.sax.saxutils import escape

import compare


class Point:
    def __init__(self, series, x, threads, work, value, worker="ours"):
        self.series, self.x, self.threads, self.work = series, x, threads, work
        self.value, self.worker = value, worker  # value(seconds) is what is drawn


def plural(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


def products(threads):
    for n in (16, 32, 64, 128, 256, 512, 1024, 2048):
        def rate(seconds, n=n):
            return 2e-9 * n ** 3 / seconds
        for count in threads:
            yield Point(f"ours, {plural(count)}", n, count, f"gemm ours f32 {n} {n} {n}", rate)
        for whose, name in (("openblas", "OpenBLAS"), ("eigen", "Eigen")):
            yield Point(f"{name}, 1 thread", n, 1, f"gemm {whose} f32 {n} {n} {n}", rate)


def decode(threads):
    tokens = 8
    for context in (8, 64, 128, 256, 512, 768, 1016):
        for kind in ("F16", "Q8_0"):
            work = f"decode {{gpt2.{kind}.gguf}} {context} {tokens}"
            for worker, name in (("ours", "ours"), ("llama", "llama.cpp")):
                yield Point(f"{name} {kind}, {plural(threads[-1])}", context, threads[-1], work, lambda s: tokens / s,
                            worker)


def training(threads):
    for width in (32, 64, 128, 256, 512):
        for worker, name in (("ours", "ours"), ("torch", "PyTorch")):
            for count in threads:
                yield Point(f"{name}, {plural(count)}", width, count, f"train 4 {width} 4 65 8 64",
                            lambda s: 8 * 64 / s, worker)


def graph(threads):
    for count in (10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000):
        for kind in ("tensor", "value"):
            yield Point(kind.capitalize(), count, 1, f"graph {kind} {count}", lambda s, n=count: 1e9 * s / n)


# name: points, title, x, y, both axes logarithmic or x alone
CHARTS = {
    "products": (products, "Square matrix products, float", "size", "GFLOP/s", False),
    "decode": (decode, "GPT-2 124M, one token after another", "tokens of context", "tokens/s", False),
    "training": (training, "Training step of a GPT of 4 layers, 8 x 64 tokens", "channels", "tokens/s", True),
    "graph": (graph, "Recording, walking back and freeing", "operations on single numbers", "ns an operation", True),
}


def measure(points, workers, options):
    """Median values of the points that could be measured."""
    for point in points:
        point.peer = compare.Peer(point.series, point.worker, point.work)
    points = [p for p in points if workers.available(p.peer)]

    def ask(p, seconds):
        work = options.fill(p.work)
        answer = workers.get(p.worker).ask(p.threads, seconds, work)
        compare.settle(p.worker, work, p.threads)
        return answer["seconds"]

    for point in points:
        seconds = ask(point, 0)
        point.values = [point.value(seconds)] if seconds > 2 else []  # slow ones have no further turns
    quick = [p for p in points if not p.values]
    began, rounds = time.time(), 0
    while rounds < options.repetitions and (rounds < 3 or time.time() - began < options.budget):
        for point in quick if rounds % 2 == 0 else reversed(quick):
            point.values.append(point.value(ask(point, options.turn)))
        rounds += 1
    for point in points:
        point.median = statistics.median(point.values)
    return points


def series_of(points):
    return list(dict.fromkeys(p.series for p in points))


def table(points, x_label, y_label):
    series = series_of(points)
    values = {(p.series, p.x): compare.short(p.median) for p in points}
    heads = [x_label] + [f"{s}, {y_label}" for s in series]
    lines = ["| " + " | ".join(heads) + " |", "|" + " ---: |" * len(heads)]
    for x in dict.fromkeys(p.x for p in points):
        lines.append(f"| {x} | " + " | ".join(values.get((s, x), "") for s in series) + " |")
    return "\n".join(lines) + "\n"


COLOURS = ("#0077bb", "#cc3311", "#009988", "#ee7733", "#aa3377", "#555555")


def svg(points, title, x_label, y_label, log_y):
    """A line chart, x logarithmic."""
    width, height, left, right, top, bottom = 720, 400, 64, 20, 40, 48
    x_low, x_high = math.log(min(p.x for p in points)), math.log(max(p.x for p in points))
    highest = max(p.median for p in points)
    y_low, y_high = (math.log(min(p.median for p in points)), math.log(highest)) if log_y else (0, highest)

    def place(x, y):
        across = (math.log(x) - x_low) / (x_high - x_low) * (width - left - right)
        up = ((math.log(y) if log_y else y) - y_low) / (y_high - y_low) * (height - top - bottom)
        return f"{left + across:.1f}", f"{height - bottom - up:.1f}"

    def text(x, y, content, anchor="middle", size=12):
        return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{escape(content)}</text>'

    body = [f'<rect width="{width}" height="{height}" fill="#ffffff"/>', text(width / 2, 22, title, size=16),
            text(width / 2, height - 8, x_label), text(8, top - 8, y_label, "start")]
    for tick in range(5):
        y = y_low + (y_high - y_low) * tick / 4
        y = math.exp(y) if log_y else y
        at = place(math.exp(x_low), max(y, 1e-9))[1] if log_y or y > 0 else str(height - bottom)
        body.append(f'<line x1="{left}" x2="{width - right}" y1="{at}" y2="{at}" stroke="#dddddd"/>')
        body.append(text(left - 6, float(at) + 4, compare.short(y), "end", 11))
    for x in dict.fromkeys(p.x for p in points):
        body.append(text(place(x, highest)[0], height - bottom + 18, f"{x:,}", size=11))
    for i, series in enumerate(series_of(points)):
        colour = COLOURS[i % len(COLOURS)]
        line = " ".join(",".join(place(p.x, p.median)) for p in points if p.series == series)
        body.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{line}"/>')
        y = top + 16 * i
        body.append(f'<line x1="{left + 12}" x2="{left + 32}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>')
        body.append(text(left + 38, y + 4, series, "start"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
            f'viewBox="0 0 {width} {height}">\n' + "\n".join(body) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    compare.add_common(parser)
    parser.add_argument("--charts", nargs="+", default=list(CHARTS), choices=list(CHARTS))
    parser.add_argument("--output", default=".")
    options = compare.complete(parser.parse_args())
    threads = options.threads or sorted({1, os.cpu_count()})
    workers = compare.Workers(options)
    about = compare.about(workers, options)
    os.makedirs(options.output, exist_ok=True)
    for name in options.charts:
        points_of, title, x_label, y_label, log_y = CHARTS[name]
        if name == "decode":
            compare.write_models([("gpt2", kind, f"gpt2.{kind}.gguf") for kind in ("F16", "Q8_0")], options)
        points = measure(list(points_of(threads)), workers, options)
        workers.close(list(workers.running))
        shown = table(points, x_label, y_label)
        print(f"{title}\n{shown}")
        base = os.path.join(options.output, f"scaling-{name}")
        with open(base + ".svg", "w") as file:
            file.write(svg(points, title, x_label, y_label, log_y))
        with open(base + ".md", "w") as file:
            file.write(f"## {title}\n\n{compare.title(about)}. Medians.\n\n![{title}](scaling-{name}.svg)\n\n{shown}")
    for name, why in workers.missing.items():
        print(f"missing: {name} ({why})", file=sys.stderr)


if __name__ == "__main__":
    main()
