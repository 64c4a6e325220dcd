#!/usr/bin/env python3
"""Compares flashwright with other implementations of attention on this machine.

Each implementation runs in a process of its own on the same cores, one after the other,
round after round; what counts is the least of all repetitions of all rounds. Writes
results.json, results.md and results.svg. Ctrl-C keeps the finished rounds.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from tqdm import tqdm

import report
from cases import OPS, Case
from implementations import IMPLEMENTATIONS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CASES = (
    "1,8,1024,64",
    "1,8,1024,128",
    "1,8,1024,64,causal",
    "1,8,4096,64,causal",
    "8,12,197,64",
    "1,8,1000,80",
)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--cases",
        nargs="+",
        type=case,
        default=CASES,
        metavar="BATCH,HEADS,SEQLEN,HEAD_DIM[,causal]",
        help="the six of `flashwright bench` without it",
    )
    add("--ops", nargs="+", choices=OPS, default=OPS)
    add("--implementations", nargs="+", choices=IMPLEMENTATIONS, default=list(IMPLEMENTATIONS))
    add("--rounds", type=int, default=5)
    add("--seconds", type=float, default=0.5, help="for each case in a round (0.5)")
    add(
        "--threads",
        type=int,
        default=1,
        help="on as many cores, the last ones of those that this process may use (1)",
    )
    add(
        "--library",
        type=Path,
        default=ROOT / "build/release/lib/libflashwright.so",
        help="flashwright's shared library (%(default)s)",
    )
    add("--output", type=Path, default=ROOT / "build/peers/results", metavar="DIR")
    add(
        "--python",
        action="append",
        default=[],
        metavar="[IMPLEMENTATION=]PATH",
        help="the Python that has the implementations, or this one",
    )
    add("--machine", default=processor(), help="its name in the results (%(default)s)")
    options = parser.parse_args()
    if options.threads > len(os.sched_getaffinity(0)):
        parser.error("--threads: more than the cores that this process may use")
    return options


def case(text):
    return str(Case.parse(text))


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


class Failed(Exception):
    """A implementation's process ended without results."""


class Runner:
    def __init__(self, options):
        self.options = options
        self.cores = sorted(os.sched_getaffinity(0))[-options.threads :]
        self.environment = os.environ | {
            "OMP_NUM_THREADS": str(options.threads),
            "NUMPY_MADVISE_HUGEPAGE": "0",  # no implementation's own memory has it
        }
        self.pythons = {"": sys.executable}
        if (zentorch := ROOT / "build/peers/zentorch/bin/python").exists():
            self.pythons["zentorch"] = str(zentorch)
        for given in options.python:
            implementation, _, path = given.rpartition("=")
            self.pythons[implementation] = path

    def run(self, implementation, cases, check=False):
        job = {
            "implementation": implementation,
            "cases": cases,
            "ops": self.options.ops,
            "seconds": self.options.seconds,
            "check": check,
            "cores": self.cores,
            "library": str(self.options.library),
        }
        python = self.pythons.get(implementation, self.pythons[""])
        process = subprocess.run(
            [python, HERE / "worker.py", json.dumps(job)],
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if process.returncode:
            last = process.stderr.strip().splitlines()[-1:]
            raise Failed(" ".join([f"exit status {process.returncode}", *last]))
        return json.loads(process.stdout.splitlines()[-1])


def find_implementations(runner, results):
    for name in runner.options.implementations:
        try:
            version = runner.run(name, cases=[])["version"]
        except (Failed, OSError) as reason:
            results["skipped"][name] = str(reason)
            print(f"{name}: skipped: {reason}")
        else:
            title = IMPLEMENTATIONS[name].title
            results["implementations"][name] = {"title": title, "version": version}
            print(f"{name}: {version}")


def run_round(runner, number, results, progress):
    names = list(results["implementations"])
    first = number % len(names)
    measurements = []
    for name in names[first:] + names[:first]:
        progress.set_description(f"round {number + 1}, {name}")
        try:
            answer = runner.run(name, runner.options.cases, check=number == 0)
            measurements += [
                {"round": number, "implementation": name} | row
                for row in answer["measurements"]
            ]
        except Failed as reason:
            results["skipped"][f"{name} in round {number + 1}"] = str(reason)
        progress.update()
    results["measurements"] += measurements
    results["rounds"] += 1


def write(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    summary = report.Summary(results)
    text = report.markdown(summary)
    (folder / "results.json").write_text(json.dumps(results) + "\n")
    (folder / "results.md").write_text(text + "\n")
    if summary.times:
        report.plot(summary, folder / "results.svg")
    print(f"\n{text}\n\nWritten to {folder}")


def main():
    options = arguments()
    runner = Runner(options)
    results = {
        "machine": options.machine,
        "date": time.strftime("%Y-%m-%d"),
        "threads": options.threads,
        "ops": list(options.ops),
        "cases": list(options.cases),
        "rounds": 0,
        "seconds": options.seconds,
        "implementations": {},
        "skipped": {},
        "measurements": [],
    }
    find_implementations(runner, results)
    if not results["implementations"]:
        sys.exit("error: no implementation can be imported")
    steps = options.rounds * len(results["implementations"])
    try:
        with tqdm(total=steps) as progress:
            for number in range(options.rounds):
                run_round(runner, number, results, progress)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    if results["rounds"]:
        write(results, options.output)


if __name__ == "__main__":
    main()
