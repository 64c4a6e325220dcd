#!/usr/bin/env python3
"""Checks that the folders of this project include each other in one direction only.

Every room (a folder with one responsibility) lists the rooms directly beneath it. A file may include files of its own room, of those
rooms, and of all rooms beneath them. Files of another folder are included by their path from the project's root, files of the same
folder by their bare name, and the public headers of the library as "flashwright/...".
"""
import os
import re
import subprocess
import sys

# From low to high. This list is the only statement of the order.
ROOMS = {
    "runtime/include": [],
    "kernels": ["runtime/include"],
    "algorithm": ["kernels"],
    "schedules": ["algorithm"],
    "generators": ["schedules"],
    "runtime/src": ["kernels"],
    "runtime/gpu": ["runtime/src"],
    "support": ["kernels"],
    "reference": ["support"],
    "measure": ["reference"],
    "tuner": ["measure", "runtime/gpu"],
    "cli": ["tuner"],
    "examples": ["runtime/include"],
    "tests": ["cli", "generators", "examples"],
    "bench": ["measure"],
}
PUBLIC_HEADERS = "runtime/include"
# Headers of other projects that are included with quotation marks, as these projects write it themselves.
FOREIGN = {"Halide.h", "HalideRuntime.h"}
SOURCES = (".c", ".cpp", ".h", ".hpp")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def room_of(path):
    return next((room for room in ROOMS if path.startswith(room + "/")), None)


def rooms_beneath(room):
    """The rooms that this room may include, itself among them."""
    return {room}.union(*(rooms_beneath(lower) for lower in ROOMS[room]))


def check_rooms():
    """The list above must be in the order that it states."""
    order = list(ROOMS)
    for room, lower_rooms in ROOMS.items():
        for lower in lower_rooms:
            if order.index(lower) >= order.index(room):
                sys.exit(f"error: ROOMS: expected {lower} before {room}")


def project_files():
    """Sources that are under version control, or all of an exported tree."""
    listing = subprocess.run(["git", "ls-files"], capture_output=True, text=True)
    if listing.returncode == 0:
        paths = listing.stdout.splitlines()
    else:
        paths = (os.path.relpath(os.path.join(folder, name)) for folder, _, names in os.walk(".") for name in names)
    return sorted(path for path in paths if path.endswith(SOURCES) and not path.startswith("build/") and os.path.exists(path))


def resolve(including, included):
    """The included file's path from the root, or None. The bare name of a file in another folder does not resolve."""
    if "/" not in included:
        candidates = [os.path.join(os.path.dirname(including), included)]
    else:
        candidates = [included, os.path.join(PUBLIC_HEADERS, included)]
    return next((path for path in candidates if os.path.isfile(path)), None)


def problem_of(including, included):
    """What is wrong with this include, or None."""
    path = resolve(including, included)
    if path is None:
        return f'"{included}" is neither a file of this folder nor a path from the root'
    here, there = room_of(including), room_of(path)
    if there is None:
        return f"{path} is in no room"
    if there not in rooms_beneath(here):
        return f"{here} may not include {there} ({path})"
    return None


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    check_rooms()
    problems = []
    for path in project_files():
        if room_of(path) is None:
            continue
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = INCLUDE.match(line)
                if match and match[1] not in FOREIGN:
                    problem = problem_of(path, match[1])
                    if problem:
                        problems.append(f"{path}:{number}: error: {problem}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
