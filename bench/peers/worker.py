"""One implementation in a process of its own: takes a job as JSON, prints the results as
the last line. Without cases it only says whether the implementation is there."""

import gc
import itertools
import json
import os
import sys
import time

job = json.loads(sys.argv[1])
os.sched_setaffinity(0, job["cores"])  # before libraries count the processors

from cases import Case, error
from implementations import IMPLEMENTATIONS

WARM_UPS = 3
LEAST_REPETITIONS = 5
TOLERANCE = 1e-4


def milliseconds(run):
    for _ in range(WARM_UPS):
        run()
    times = []
    start = time.perf_counter()
    while (
        time.perf_counter() - start < job["seconds"] or len(times) < LEAST_REPETITIONS
    ):
        before = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - before) / 1e6)
    return times


def measure(call, op, case, tensors):
    if job["check"]:
        wrong = error(op, case, tensors, call.results(call.run()))
        if not wrong < TOLERANCE:
            return {"error": f"off by {wrong:.1e}"}
    return {"ms": milliseconds(call.run)}


def measurements(implementation, op, text):
    """Of all variants of this op on this case."""
    set_up = getattr(implementation, op, None)
    if set_up is None:
        return
    row = {"op": op, "case": text}
    case = Case.parse(text)
    tensors = case.tensors()
    try:
        for call in set_up(case, *tensors):
            yield row | {"variant": call.variant} | measure(call, op, case, tensors)
    except Exception as failure:
        yield row | {"variant": "", "error": f"{type(failure).__name__}: {failure}"}


def main():
    gc.disable()
    implementation = IMPLEMENTATIONS[job["implementation"]](len(job["cores"]), job["library"])
    rows = [
        row
        for op, text in itertools.product(job["ops"], job["cases"])
        for row in measurements(implementation, op, text)
    ]
    print(json.dumps({"version": implementation.version, "measurements": rows}))


main()
