#!/usr/bin/env python3
"""Compile time of the README's training program against the same matrix work on <Eigen/Dense>, both at -O2.

usage: bench/compile_time.py [--compiler g++] [--rounds 9] [--flags "-O2 -march=native"] [ours.cpp]

The two are compiled in turn, so that a busy machine slows both. Prints the median time of the processor (user and
system, which other programs disturb least), the ratio, and the peak memory of the compiler.
"""
import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEER = ROOT / "bench/compile_time/eigen_circle.cpp"


def compile_once(command):
    """Seconds of processor time and peak megabytes of one compilation, its children included."""
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit("does not compile: " + " ".join(command))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    options = argparse.ArgumentParser()
    options.add_argument("ours", nargs="?", default=str(ROOT / "examples/readme_training.cpp"))
    options.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--flags", default="-O2")
    options.add_argument("--eigen", default="/usr/include/eigen3", help="where <Eigen/Dense> is")
    arguments = options.parse_args()

    command = [arguments.compiler, "-std=c++20", "-c", "-o", os.devnull, *arguments.flags.split()]
    programs = {
        "tinygrad": command + ["-I", str(ROOT / "include"), arguments.ours],
        "Eigen": command + ["-isystem", arguments.eigen, str(PEER)],
    }
    measured = {name: [] for name in programs}
    for _ in range(arguments.rounds):
        for name, program in programs.items():
            measured[name].append(compile_once(program))

    median = {}
    print(f"{arguments.compiler} {arguments.flags}, {arguments.rounds} rounds in turn")
    for name, results in measured.items():
        times = sorted(seconds for seconds, _ in results)
        median[name] = statistics.median(times)
        memory = max(megabytes for _, megabytes in results)
        print(f"{name:9} {median[name]:6.2f} s  ({times[0]:.2f} to {times[-1]:.2f})  peak {memory:4.0f} MB")
    print(f"ratio     {median['tinygrad'] / median['Eigen']:6.2f}")


if __name__ == "__main__":
    main()
