"""What the peers' workers have in common: the protocol of bench/worker/main.cpp, in Python.

One request a line, THREADS SECONDS WORK [ARGUMENT ...]; the answer is a line of JSON with the seconds of one call.
"""
import json
import os
import sys
import time


def peak_bytes():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


class Work:
    """A callable and how long it last took: short ones are called once more before they are timed."""

    def __init__(self, call):
        self.call, self.last = call, 0.0

    def measure(self, seconds):
        if seconds == 0 or self.last < 0.05:
            self.call()
        calls, passed = 0, 0.0
        start = time.perf_counter()
        while passed < seconds or calls == 0:
            self.call()
            calls += 1
            passed = time.perf_counter() - start
        self.last = passed / calls
        return {"seconds": self.last, "calls": calls, "peak_bytes": peak_bytes()}


def serve(make, use_threads):
    """`make(name, *arguments)` returns a callable; `use_threads(count)` is called before each request."""
    works = {}
    out = os.fdopen(os.dup(1), "w")  # what libraries print must not be taken for answers
    os.dup2(2, 1)
    for line in sys.stdin:
        threads, seconds, *what = line.split()
        try:
            use_threads(int(threads))
            key = tuple(what)
            if key not in works:
                works[key] = Work(make(*what))
            answer = works[key].measure(float(seconds))
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), file=out, flush=True)
