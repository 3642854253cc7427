"""What the peers' workers have in common: the protocol of bench/worker/main.cpp, in Python.

One request a line, THREADS SECONDS WORK [ARGUMENT ...]; the answer is a line of JSON with the seconds of one call.
"""
import json
import sys
import time


def peak_bytes():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


def measure(call, seconds):
    start = time.perf_counter()
    call()
    if seconds == 0 or time.perf_counter() - start < 0.05:
        call()
    calls, passed = 0, 0.0
    start = time.perf_counter()
    while passed < seconds:
        call()
        calls += 1
        passed = time.perf_counter() - start
    return {"seconds": passed / max(calls, 1), "calls": calls, "peak_bytes": peak_bytes()}


def serve(make, use_threads):
    """`make(name, *arguments)` returns a callable; `use_threads(count)` is called before each request."""
    works = {}
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print must not be taken for answers
    for line in sys.stdin:
        threads, seconds, *what = line.split()
        try:
            use_threads(int(threads))
            key = tuple(what)
            if key not in works:
                works[key] = make(*what)
            answer = measure(works[key], float(seconds))
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), file=out, flush=True)
