#!/usr/bin/env python3
"""Instructions of four short fixed works, beside committed numbers: a regression shows on the busiest machine.

    python3 bench/instructions.py            builds for x86-64-v3, counts, compares; exit code 1 beyond the tolerance
    python3 bench/instructions.py --update   writes what was counted into bench/results/instructions.json

Counts are of one call on one thread: a run of several calls less one of a single call, so that making the work does
not count. Counted by `perf stat` where the processor's counters are allowed, else by valgrind's callgrind. Numbers
depend on the compiler, so there is a set for each.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
EXPECTED = os.path.join(HERE, "results", "instructions.json")
WORKS = {  # name: calls, work
    "product 128x128x128": (8, "gemm ours f32 128 128 128"),
    "training step of a GPT, 4x32 tokens": (2, "train 2 64 4 65 4 32"),
    "token of a small Llama, Q8_0": (1, "decode {llama} 4 1"),
    "circle network, 100 steps": (1, "circle"),
}


def build(folder):
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DTINYGRAD_NATIVE=OFF", "-DCMAKE_CXX_FLAGS=-march=x86-64-v3",
             "-DTINYGRAD_BUILD_TESTS=OFF", "-DTINYGRAD_BUILD_EXAMPLES=OFF"]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, *flags], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "compare_worker"], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "bench", "compare_worker")


def with_perf(command):
    run = subprocess.run(["perf", "stat", "-x", ",", "-e", "instructions:u", *command], capture_output=True, text=True)
    found = re.search(r"^(\d+),", run.stderr, re.M)
    return int(found[1]) if run.returncode == 0 and found else None


def with_callgrind(command):
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                         capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found:
        sys.exit(run.stderr)
    return int(found[1])


def choose_counter():
    if shutil.which("perf") and with_perf(["true"]) is not None:
        return "perf", with_perf
    if shutil.which("valgrind"):
        return "callgrind", with_callgrind
    sys.exit("neither perf's counters nor valgrind are there")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "instructions"), help="folder of the build")
    parser.add_argument("--tolerance", type=float, default=2, help="percent")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    worker = build(options.build)
    llama = os.path.join(options.build, "llama.gguf")
    if not os.path.exists(llama):
        subprocess.run([worker, "write", "llama", "Q8_0", llama], check=True)
    compiler = json.loads(subprocess.run([worker, "describe"], check=True, capture_output=True).stdout)["compiler"]
    tool, count = choose_counter()
    expected = {}
    if os.path.exists(EXPECTED):
        with open(EXPECTED) as file:
            expected = json.load(file)
    known, counted, beyond = expected.get(compiler, {}), {}, False
    print(f"instructions of one call, {compiler}, x86-64-v3, by {tool}; tolerance {options.tolerance:g}%")
    for name, (calls, work) in WORKS.items():
        words = work.format(llama=llama).split()
        # The first call, which fills pools, is on both sides.
        few, many = (count([worker, "once", "1", str(n), *words]) for n in (1, 1 + calls))
        counted[name] = (many - few) // calls
        change = f"{100 * (counted[name] / known[name] - 1):+.2f}%" if name in known else "new"
        if name in known and counted[name] > known[name] * (1 + options.tolerance / 100):
            change += "  MORE"
            beyond = True
        print(f"{name:38} {counted[name]:>13,}  {change}", flush=True)
    if options.update:
        expected[compiler] = counted
        with open(EXPECTED, "w") as file:
            json.dump(expected, file, indent=1)
            file.write("\n")
    return 1 if beyond and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
