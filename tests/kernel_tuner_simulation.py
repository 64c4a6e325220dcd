"""Loads a cache file of `flashwright report --kernel-tuner` in Kernel Tuner's simulation mode, and its results against the T4 schema
that Kernel Tuner ships: kernel_tuner_simulation.py RESULTS CACHE"""
import importlib.resources
import json
import sys

import jsonschema
import kernel_tuner

results, cache_file = sys.argv[1:]
schema = importlib.resources.files("kernel_tuner") / "schema" / "T4" / "1.0.0" / "results-schema.json"
jsonschema.validate(json.load(open(results)), json.loads(schema.read_text()))

cache = json.load(open(cache_file))
keys = cache["tune_params_keys"]
known = {tuple(entry[key] for key in keys) for entry in cache["cache"].values()}


def recorded(parameters):
    return tuple(parameters[key] for key in keys) in known


found, _ = kernel_tuner.tune_kernel(
    cache["kernel_name"], "void none() {}", cache["problem_size"], [], cache["tune_params"], lang="C", cache=cache_file,
    simulation_mode=True, restrictions=recorded, strategy="brute_force")
best = min(entry["time"] for entry in cache["cache"].values() if not isinstance(entry["time"], str))
times = [result["time"] for result in found if isinstance(result["time"], float)]
assert min(times) == best, (min(times), best)
print(f"Kernel Tuner {kernel_tuner.__version__ if hasattr(kernel_tuner, '__version__') else ''} read {len(found)} configurations")
