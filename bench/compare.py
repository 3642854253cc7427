#!/usr/bin/env python3
"""Every work of the list below side by side with what one would use instead, in turns, on this machine.

    cmake --preset release && cmake --build build/release --target compare_worker
    python3 bench/compare.py --rows 'sgemm|gemv'
    python3 bench/compare.py --python /path/to/venv/bin/python --json all.json --markdown all.md

Ours and each peer live in processes of their own that answer "how long does one call take" (bench/worker, bench/peers;
OpenBLAS and Eigen sit in our worker, where CMake finds them). In every round each of them has a short turn, in the
opposite order every other round, so that whatever else the machine does slows all of them alike. A ratio is the median
over rounds of their seconds / our seconds (above 1: ours is faster), its spread the interquartile range over the
rounds. Each round also measures what the machine can do: multiply-adds in registers of a core, and reading of memory
with as many threads; shares are of the best such figure of the row.

--python names an interpreter with the peers from PyPI: torch, safetensors, llama-cpp-python, tiktoken. Peers that are
missing are named in the output. Texts and the vocabulary of GPT-2 come from --data (TINYGRAD_SHARED_DATA); models with
random weights are written into --scratch.
"""
import argparse
import collections
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = 256 << 20  # bytes that no cache holds, for the bandwidth of memory


# --- the rows --------------------------------------------------------------------------------------------------------

class Peer:
    """`worker` does `work`; `reach` is the ratio that is wanted. Without a worker, `seconds(fma_peak)` is published."""

    def __init__(self, name, worker, work, reach=None, threads=None, seconds=None):
        self.name, self.worker, self.work, self.reach = name, worker, work, reach
        self.threads, self.seconds = threads, seconds


class Row:
    """`amount` / seconds is shown in `unit`, or milliseconds where there is none; `limit`: fma, read or nothing."""

    def __init__(self, section, name, work, peers, unit=None, amount=1.0, limit=None, fresh=False, files=(),
                 threads=(1, 2), steady=False):
        self.section, self.name, self.work, self.peers = section, name, work, peers
        self.unit, self.amount, self.limit, self.fresh = unit, amount, limit, fresh
        self.files, self.threads, self.steady = files, threads, steady


def product_rows():
    shapes = [(n, n, n) for n in (64, 128, 256, 512, 1024, 2048)]
    gpt2 = [(768, 768), (768, 2304), (768, 3072), (3072, 768), (768, 50257)]
    shapes += [(m, k, n) for m in (64, 256, 1024) for k, n in gpt2 if m * n < 2e7]
    for kind, sizes in (("f32", shapes), ("f64", shapes[:6])):
        section = "sgemm" if kind == "f32" else "dgemm"
        for m, k, n in sizes:
            args = f"{kind} {m} {k} {n}"
            peers = [Peer("OpenBLAS", "ours", f"gemm openblas {args}", 1.0)]
            if kind == "f32":
                peers.append(Peer("Eigen", "ours", f"gemm eigen {args}", 1.05, threads=1))
            yield Row(section, f"{section} {m}x{k}x{n}", f"gemm ours {args}", peers, "GFLOP/s", 2e-9 * m * k * n,
                      limit="fma" if kind == "f32" else None)
    for k, n in ((768, 2304), (768, 3072), (768, 50257)):
        for stored in ("rows", "columns"):
            bytes_ = 4 * k * n
            yield Row("gemv", f"gemv {k}x{n} by {stored}", f"gemv ours {k} {n} {stored}",
                      [Peer("OpenBLAS", "ours", f"gemv openblas {k} {n} {stored}", 1.0)], "GB/s", 1e-9 * bytes_,
                      limit="read" if bytes_ > (64 << 20) else None)
    for m, k, n in ((64, 64, 24), (64, 24, 64)):
        args = f"f32 {m} {k} {n} 48"
        yield Row("batch", f"batch 48 of {m}x{k}x{n}", f"gemm ours {args}",
                  [Peer("OpenBLAS", "ours", f"gemm openblas {args}", 1.0),
                   Peer("Eigen", "ours", f"gemm eigen {args}", 1.2, threads=1)], "GFLOP/s", 2e-9 * 48 * m * k * n,
                  limit="fma")
    yield Row("naive", "naive 512x512x512", "gemm ours f32 512 512 512",
              [Peer("naive", "ours", "gemm naive f32 512 512 512", 120)], "GFLOP/s", 2e-9 * 512 ** 3, limit="fma",
              threads=(2,))


def generation_rows():
    reach = {"F32": 1.0, "F16": 1.3, "Q8_0": 1.4, "Q4_0": 1.2}
    for kind, goal in reach.items():
        file = ("gpt2", kind, f"gpt2.{kind}.gguf")
        work = f"decode {{gpt2.{kind}.gguf}} 32 16"
        yield Row("decode", f"GPT-2 124M decode {kind}", work, [Peer("llama.cpp", "llama", work, goal)], "tokens/s", 16,
                  limit="read", fresh=True, files=(file,), steady=True)
        for length in (128, 512):
            work = f"prefill {{gpt2.{kind}.gguf}} {length}"
            yield Row("prefill", f"GPT-2 124M prefill {length} {kind}", work, [Peer("llama.cpp", "llama", work, 1.6)],
                      "tokens/s", length, limit="fma", fresh=True, files=(file,))
    for kind in ("F16", "Q8_0"):
        file = ("llama", kind, f"llama.{kind}.gguf")
        works = (("decode {llama.%s.gguf} 32 16", 1.2, 16), ("prefill {llama.%s.gguf} 128", 1.5, 128))
        for work, goal, amount in works:
            name = f"small Llama {work.split()[0]} {kind}"
            yield Row("small Llama", name, work % kind, [Peer("llama.cpp", "llama", work % kind, goal)], "tokens/s",
                      amount, limit="read" if amount == 16 else "fma", fresh=True, files=(file,), steady=amount == 16)


def training_rows():
    def torch(row_name, work, goal, section="training", **more):
        return Row(section, row_name, work, [Peer("PyTorch", "torch", work, goal)], **more)

    row = torch("GPT-2 124M step 4x64", "train 12 768 12 50257 4 64", 1.3, limit="fma", fresh=True, steady=True)
    # llm.c took 5.2 s on two threads of a machine of about 210 GFLOP/s a core.
    row.peers.append(Peer("llm.c, scaled", None, None, 6, threads=2, seconds=lambda peak: 5.2 * 210e9 / peak))
    yield row
    yield torch("part 3 step 32x64", "train 4 96 4 65 32 64", 2.5, limit="fma", fresh=True, steady=True)
    yield torch("circle, 100 steps", "circle", 20, steady=True)
    yield torch("XOR, 100 steps", "xor", 20, steady=True)
    yield torch("chain of 5, 1M floats", "chain 1048576", 3, "elementwise")
    for op, rows, columns in (("softmax", 64, 50257), ("softmax", 1024, 768), ("layer_norm", 1024, 768),
                              ("cross_entropy", 64, 50257)):
        for direction in ("forward", "backward"):
            both = "" if direction == "forward" else " + backward"
            work = f"{op} {rows} {columns} {direction}"
            yield torch(f"{op} {rows}x{columns} forward{both}", work, 1.2, "row operations")


def text_rows():
    for name, path in (("tinyshakespeare", "{data}/corpora/tinyshakespeare.txt"),
                       ("diwan", "{data}/corpora/mutanabbi/diwan_full_plain.txt"), ("source code", "{source.txt}")):
        for state in ("warm", "cold"):
            work = f"tokenize {state} {{data}}/tokenizer/gpt2 {path}"
            yield Row("tokenizer", f"tokenizer {name} {state}", work, [Peer("tiktoken", "tiktoken", work, 5)], "MB/s",
                      amount=path, threads=(1,))
    work = "load {gpt2.safetensors} 8"
    yield Row("loading", "124M safetensors to first logits", work,
              [Peer("safetensors + PyTorch", "torch", work, 2)], fresh=True,
              files=(("gpt2", "safetensors", "gpt2.safetensors"),))


def all_rows():
    return [*product_rows(), *generation_rows(), *training_rows(), *text_rows()]


# --- processes -------------------------------------------------------------------------------------------------------

class Failed(Exception):
    pass


class Worker:
    """A process that answers requests; see bench/worker/main.cpp."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment, stderr=subprocess.DEVNULL)

    def ask(self, threads, seconds, work):
        try:
            self.process.stdin.write(f"{threads} {seconds} {work}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(f"the process ended (exit code {self.process.wait()})")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def threads(self):
        """Nanoseconds of processor time of each thread so far."""
        times = {}
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            with open(path) as file:
                times[int(path.split("/")[-2])] = int(file.read().split()[0])
        return times


class Workers:
    """The processes by name, started when first asked for."""
    MODULES = {"torch": "torch", "llama": "llama_cpp", "tiktoken": "tiktoken"}

    def __init__(self, options):
        self.options, self.running, self.missing = options, {}, {}
        self.environment = dict(os.environ)
        self.build = self.describe()
        flags = cpu_flags()
        # Debian's OpenBLAS takes some processors for a Prescott: the right kernel by name.
        if self.build.get("openblas") == "Prescott" and "OPENBLAS_CORETYPE" not in os.environ and "avx2" in flags:
            self.environment["OPENBLAS_CORETYPE"] = "SkylakeX" if "avx512f" in flags else "Haswell"
            self.build = self.describe()
        for name in ("openblas", "eigen"):
            if name not in self.build:
                self.missing[name] = "not in this build: CMake did not find it"

    def describe(self):
        answer = subprocess.run([self.options.worker, "describe"], check=True, capture_output=True, text=True,
                                env=self.environment)
        return json.loads(answer.stdout)

    def available(self, peer):
        if peer.worker is None:
            return True
        name = peer.worker if peer.worker != "ours" else peer.work.split()[1]
        if name in self.MODULES and name not in self.missing and name not in self.running:
            probe = subprocess.run([self.options.python, "-c", f"import {self.MODULES[name]}"], capture_output=True)
            if probe.returncode != 0:
                self.missing[name] = f"{self.options.python} has no module {self.MODULES[name]}"
        return name not in self.missing

    def get(self, name):
        if name not in self.running:
            command = [self.options.worker]
            if name in self.MODULES:
                command = [self.options.python, os.path.join(HERE, "peers", f"{name}_worker.py")]
            self.running[name] = Worker(command, self.environment)
        return self.running[name]

    def close(self, names):
        for name in names:
            if name in self.running:
                self.running.pop(name).close()


def cpu_facts():
    facts = {"model": "?", "cores": os.cpu_count()}
    with open("/proc/cpuinfo") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                facts["model"] = value.strip()
    return facts


def cpu_flags():
    with open("/proc/cpuinfo") as file:
        return next((set(line.split(":")[1].split()) for line in file if line.startswith("flags")), set())


def machine_seconds():
    """Processor time that all cores together have spent on anything, and that the hypervisor kept from them."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def pin(worker, work, threads):
    """Makes the work and gives each of the threads that compute it a processor of its own."""
    everywhere = os.sched_getaffinity(0)
    for thread in worker.threads():
        os.sched_setaffinity(thread, everywhere)  # a thread made from here would stay where its maker is
    before = worker.threads()
    worker.ask(threads, 0, work)
    after = worker.threads()
    busiest = sorted(after, key=lambda t: after[t] - before.get(t, 0), reverse=True)[:threads]
    for thread, cpu in zip(sorted(busiest), sorted(everywhere)):
        os.sched_setaffinity(thread, {cpu})


# --- measuring -------------------------------------------------------------------------------------------------------

def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def settle(worker, work, threads):
    """Threads of some peers spin for a while after a call and would slow whoever is next."""
    if threads > 1 and worker != "limits":
        time.sleep(0.15 if "openblas" in work else 0.02 if worker != "ours" else 0)


def measure(row, threads, workers, options, log):
    """One row with one number of threads: the record that goes into the JSON."""
    fill = options.fill
    turns = collections.OrderedDict({"ours": ("ours", fill(row.work))})
    wanted = [p for p in row.peers if p.threads in (None, threads)]
    for peer in wanted:
        if workers.available(peer) and peer.worker:
            turns[peer.name] = (peer.worker, fill(peer.work))
    limit = {"fma": "fma", "read": f"read {CACHE}", None: None}[row.limit]
    if any(p.seconds for p in wanted):
        limit = "fma"
    if limit:
        turns["limit"] = ("limits", limit)
    used = {worker for worker, _ in turns.values()}
    if row.fresh:
        workers.close(used - {"limits"})
    for name, (worker, work) in list(turns.items()):
        try:
            if options.pin and worker not in ("limits", "llama"):  # llama.cpp makes new threads for each call
                pin(workers.get(worker), work, threads)
            else:
                workers.get(worker).ask(1 if work == "fma" else threads, 0, work)
            settle(worker, work, threads)
        except Failed as problem:
            log(f"{row.name}: {name} failed: {problem}")
            workers.close([worker])
            if name == "ours":
                return None
            del turns[name]
    answers = {name: [] for name in turns}
    processes = [workers.get(name) for name in used if name in workers.running]
    own_before, all_before = sum(p.processor_seconds() for p in processes), machine_seconds()
    began, rounds = time.time(), 0
    while rounds < options.repetitions and (rounds < 3 or time.time() - began < options.budget):
        order = list(turns) if rounds % 2 == 0 else list(reversed(turns))
        for name in order:
            worker, work = turns[name]
            one = work == "fma"
            answers[name].append(workers.get(worker).ask(1 if one else threads, 0.002 if one else options.turn, work))
            settle(worker, work, threads)
        rounds += 1
    own = sum(p.processor_seconds() for p in processes) - own_before
    others = max(0.0, machine_seconds() - all_before - own) / (time.time() - began)
    return {**record(row, threads, wanted, answers, options), "others": others}


def record(row, threads, peers, answers, options):
    seconds = {name: [a["seconds"] for a in all_] for name, all_ in answers.items()}
    amount = row.amount if not isinstance(row.amount, str) else os.path.getsize(options.fill(row.amount)) / 1e6
    low, middle, high = quartiles(seconds["ours"])
    result = {"section": row.section, "row": row.name, "threads": threads, "rounds": len(seconds["ours"]),
              "unit": row.unit or "ms", "seconds": middle, "seconds_quartiles": [low, high],
              "value": amount / middle if row.unit else 1e3 * middle, "peers": []}
    if row.steady:
        result["allocations"] = min(a["allocations"] for a in answers["ours"])
    if row.fresh:
        result["peak_bytes"] = answers["ours"][-1]["peak_bytes"]
    best = None
    if "limit" in answers:
        best = max((a["flop"] or a["bytes"]) / a["seconds"] for a in answers["limit"])
    if row.limit:
        kind, factor = ("flop", threads) if row.limit == "fma" else ("bytes", 1)
        result["limit"] = {"kind": row.limit, "per_second": best * factor}
        result["share"] = answers["ours"][0][kind] / middle / (best * factor)
    for peer in peers:
        entry = {"peer": peer.name, "reach": peer.reach}
        if peer.seconds:
            entry.update(seconds=peer.seconds(best), ratio=peer.seconds(best) / middle, ratio_quartiles=None)
        elif peer.name in seconds:
            ratios = [theirs / ours for theirs, ours in zip(seconds[peer.name], seconds["ours"])]
            low, ratio, high = quartiles(ratios)
            entry.update(seconds=statistics.median(seconds[peer.name]), ratio=ratio, ratio_quartiles=[low, high])
            if row.fresh:
                entry["peak_bytes"] = answers[peer.name][-1]["peak_bytes"]
        else:
            entry["missing"] = True
        if "seconds" in entry:
            entry["value"] = amount / entry["seconds"] if row.unit else 1e3 * entry["seconds"]
        result["peers"].append(entry)
    return result


# --- showing ---------------------------------------------------------------------------------------------------------

HEADS = ["work", "threads", "ours", "peer", "theirs", "ratio", "spread", "to reach", "of the limit", "memory, MB",
         "allocations", "others"]


def short(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def cells(result):
    """One line of the table for each peer."""
    share = f"{100 * result['share']:.0f}% {result['limit']['kind']}" if "share" in result else ""
    allocations = short(result["allocations"]) if "allocations" in result else ""
    for peer in result["peers"] or [{"peer": "none", "reach": None, "missing": True}]:
        line = [result["row"], str(result["threads"]), f"{short(result['value'])} {result['unit']}", peer["peer"]]
        if peer.get("missing"):
            line += ["missing", "", ""]
        else:
            spread = "published" if peer["ratio_quartiles"] is None else \
                f"{peer['ratio_quartiles'][0]:.2f} - {peer['ratio_quartiles'][1]:.2f}"
            line += [short(peer["value"]), f"{peer['ratio']:.2f}", spread]
        memory = ""
        if "peak_bytes" in result:
            memory = f"{result['peak_bytes'] / 1e6:.0f}"
            memory += f" / {peer['peak_bytes'] / 1e6:.0f}" if "peak_bytes" in peer else ""
        yield line + [f"{peer['reach']:g}" if peer["reach"] else "", share, memory, allocations,
                      f"{result['others']:.1f}" if result["others"] >= 0.1 else ""]


def means(results):
    """Geometric means over the rows of a section, by peer and threads."""
    groups = collections.OrderedDict()
    for result in results:
        for peer in result["peers"]:
            if "ratio" in peer:
                groups.setdefault((result["section"], peer["peer"], result["threads"]), []).append(peer["ratio"])
    return [{"section": s, "peer": p, "threads": t, "rows": len(r), "least": min(r),
             "mean": math.exp(sum(map(math.log, r)) / len(r))} for (s, p, t), r in groups.items() if len(r) > 1]


def title(about):
    build, cpu = about["build"], about["cpu"]
    peers = ", ".join(f"{k} {v}" for k, v in about["peers"].items())
    return (f"{cpu['model']}, {cpu['cores']} cores; {build['compiler']}, {build['isa']}, {build['float_lanes']:.0f} "
            f"float lanes; OpenBLAS kernel {build.get('openblas', 'none')}" + (f"; {peers}" if peers else "") +
            ("; pinned" if about["pinned"] else ""))


def markdown(about, results):
    lines = [title(about) + ".", ""]
    lines += ["Ratio: median of their seconds / our seconds in turns, above 1 ours is faster; spread: its quartiles.",
              "Memory: peak of the whole process, ours / the peer's. Allocations: calls of the general allocator in a",
              "warmed-up call. Others: cores that other processes kept busy meanwhile; such rows say little.", ""]
    lines += [f"- {name}: {why}" for name, why in about["missing"].items()]
    section = None
    for result in results:
        if result["section"] != section:
            section = result["section"]
            lines += ["", f"### {section}", "", "| " + " | ".join(HEADS) + " |", "|" + " --- |" * len(HEADS)]
        lines += ["| " + " | ".join(line) + " |" for line in cells(result)]
    averages = means(results)
    if averages:
        lines += ["", "### geometric means", "", "| section | peer | threads | rows | least | mean |",
                  "|" + " --- |" * 6]
        for m in averages:
            line = [m["section"], m["peer"], str(m["threads"]), str(m["rows"]), f"{m['least']:.2f}", f"{m['mean']:.2f}"]
            lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines) + "\n"


def versions(python):
    names = {"torch": "PyTorch", "llama_cpp_python": "llama-cpp-python", "tiktoken": "tiktoken"}
    code = ("import importlib.metadata as m, json\nr = {}\n"
            f"for n, t in {names!r}.items():\n  try: r[t] = m.version(n)\n  except m.PackageNotFoundError: pass\n"
            "print(json.dumps(r))")
    probe = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return json.loads(probe.stdout) if probe.returncode == 0 else {}


def earlier_results(path):
    if not path or not os.path.exists(path):
        return []
    with open(path) as file:
        return json.load(file)["results"]


def save(about, earlier, results, options):
    """The files so far: earlier results of other rows stay, all in the order of the rows."""
    order = {row.name: i for i, row in enumerate(all_rows())}
    new = {(r["row"], r["threads"]) for r in results}
    both = [r for r in earlier if (r["row"], r["threads"]) not in new and r["row"] in order] + results
    both.sort(key=lambda r: (order[r["row"]], r["threads"]))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**about, "results": both}, file, indent=1)
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write(markdown(about, both))


def about(workers, options):
    """What was measured, with what and on what."""
    return {"cpu": cpu_facts(), "build": workers.build, "peers": versions(options.python), "pinned": options.pin,
            "missing": workers.missing}


def write_models(files, options):
    """Models with random weights: (architecture, type of tensors, name in the scratch folder)."""
    os.makedirs(options.scratch, exist_ok=True)
    for model, kind, name in files:
        path = os.path.join(options.scratch, name)
        if not os.path.exists(path):
            print(f"writing {path}", file=sys.stderr, flush=True)
            subprocess.run([options.worker, "write", model, kind, path], check=True)


def prepare(row, options, log):
    """Makes the files that a row needs; False where one cannot be had."""
    write_models(row.files, options)
    source = os.path.join(options.scratch, "source.txt")
    if "source.txt" in row.work and not os.path.exists(source):
        headers = sorted(glob.glob(os.path.join(HERE, "..", "include", "**", "*.hpp"), recursive=True))
        with open(source, "wb") as out:
            for header in headers:
                with open(header, "rb") as file:
                    out.write(file.read())
    for path in options.fill(row.work).split():
        if "/" in path and not os.path.exists(path):
            log(f"{row.name}: left out, {path} is missing (--data)")
            return False
    return True


def add_common(parser):
    parser.add_argument("--worker", default=os.path.join(HERE, "..", "build", "release", "bench", "compare_worker"))
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the peers")
    parser.add_argument("--threads", type=int, nargs="+", help="only these numbers of threads")
    parser.add_argument("--repetitions", type=int, default=15, help="rounds, at most")
    parser.add_argument("--budget", type=float, default=12, help="seconds a row, once it has three rounds")
    parser.add_argument("--turn", type=float, default=0.03, help="seconds of one turn, at least one call")
    parser.add_argument("--scratch", default=os.path.join(HERE, "..", "build", "compare"), help="for models")
    parser.add_argument("--data", default=os.environ.get("TINYGRAD_SHARED_DATA", ""), help="for texts")
    parser.add_argument("--pin", action="store_true", help="a processor for each computing thread")


def complete(options):
    if not os.path.exists(options.worker):
        sys.exit(f"{options.worker} is not built (--worker)")
    options.fill = lambda text: re.sub(
        r"\{([^}]*)\}", lambda m: options.data if m[1] == "data" else os.path.join(options.scratch, m[1]), text)
    return options


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--rows", default="", help="a regular expression over names and sections")
    parser.add_argument("--list", action="store_true", help="names of the rows only")
    parser.add_argument("--json", help="results of other rows that are in this file stay there")
    parser.add_argument("--markdown")
    options = complete(parser.parse_args())
    log = lambda text: print(text, file=sys.stderr, flush=True)
    chosen = [r for r in all_rows() if re.search(options.rows, r.name) or re.fullmatch(options.rows, r.section)]
    if options.list:
        return print("\n".join(f"{r.section:12} {r.name}" for r in chosen))
    workers = Workers(options)
    earlier = earlier_results(options.json)
    facts = about(workers, options)
    print(title(facts))
    results = []
    for row in chosen:
        if not prepare(row, options, log):
            continue
        for threads in row.threads:
            if options.threads and threads not in options.threads or threads > os.cpu_count():
                continue
            result = measure(row, threads, workers, options, log)
            if result:
                results.append(result)
                save(facts, earlier, results, options)
                for line in cells(result):
                    print("  ".join(text.ljust(width) for text, width in
                                    zip(line, (34, 1, 14, 9, 8, 6, 12, 4, 9, 11, 1, 4))), flush=True)
    workers.close(list(workers.running))
    for mean in means(results):
        print(f"geometric mean of {mean['rows']} {mean['section']}, {mean['threads']} threads, to {mean['peer']}: "
              f"{mean['mean']:.2f}, least {mean['least']:.2f}")
    for name, why in workers.missing.items():
        print(f"missing: {name} ({why})")


if __name__ == "__main__":
    main()
