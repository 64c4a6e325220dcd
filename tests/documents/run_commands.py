#!/usr/bin/env python3
"""Runs every command that the documents show, document by document, in a fresh clone of the last commit.

    run_commands.py [--sandbox DIR] [--again] [DOCUMENT...]

Commands are `sh` blocks and the lines after `$ ` in `console` blocks. One shell runs those of a document, from the clone's
folder, with a home of its own; the first that fails ends the document. Blocks marked <!-- not run: reason --> are left out
and listed; blocks marked <!-- file: path --> are written there. Generated kernels come from build/kernel-cache, if it is there.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import markdown


def commands(block):
    if block.language == "sh":
        return block.text
    lines, shown = [], False
    for line in block.text.splitlines():
        shown = line.startswith("$ ") or (shown and lines[-1].endswith("\\"))
        if shown:
            lines.append(line.removeprefix("$ "))
    return "\n".join(lines) + "\n"


def script(path, clone):
    """The document as a shell script, and (place, reason) of what it leaves out."""
    text, left_out = "set -euo pipefail\n", []
    for block in markdown.blocks(path):
        if file := block.notes.get("file"):
            target = clone / file
            text += f"mkdir -p {shlex.quote(str(target.parent))}\n"
            text += f"cat >{shlex.quote(str(target))} <<'END OF FILE'\n{block.text}END OF FILE\n"
        elif block.language not in ("sh", "console"):
            continue
        elif reason := block.notes.get("not run"):
            left_out.append((block, reason))
        else:
            text += f"echo '@ {block.place()}'\n{commands(block)}"
    return text, left_out


def make_clone(sandbox, again):
    clone = sandbox / "flashwright"
    if again and clone.is_dir():
        subprocess.run(["git", "-C", clone, "fetch", "-q", "origin", "HEAD"], check=True)
        subprocess.run(["git", "-C", clone, "reset", "-q", "--hard", "FETCH_HEAD"], check=True)
        return clone
    if sandbox.exists() and not (sandbox / "home").is_dir():
        sys.exit(f"error: {sandbox}: expected a folder of an earlier run, or none")
    shutil.rmtree(sandbox, ignore_errors=True)
    (sandbox / "home").mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", "--local", markdown.ROOT, clone], check=True)
    cache = markdown.ROOT / "build/kernel-cache"
    if cache.exists():
        (clone / "build").mkdir()
        (clone / "build/kernel-cache").symlink_to(cache)
    return clone


def run(path, clone, sandbox):
    """Whether all commands of the document succeeded."""
    name = str(path.relative_to(markdown.ROOT))
    text, left_out = script(path, clone)
    for block, reason in left_out:
        print(f"not run: {block.place()}: {reason}:\n    " + commands(block).strip().replace("\n", "\n    "))
    if "\necho '@ " not in text:
        return True
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FLASHWRIGHT_")}
    environment["HOME"] = str(sandbox / "home")
    log = sandbox / (re.sub(r"\W", "_", name) + ".log")
    start = time.monotonic()
    with open(log, "w", encoding="utf-8") as output:
        code = subprocess.run(["bash", "-c", text], cwd=clone, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT).returncode
    print(f"{'FAILED' if code else 'ran'}: {name}, {time.monotonic() - start:.0f} s, {log}", flush=True)
    if code:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        places = [line[2:] for line in lines if line.startswith("@ ")]
        print(f"    in {places[-1] if places else name}, exit code {code}:\n    " + "\n    ".join(lines[-20:]))
    return code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sandbox", type=Path, default=markdown.ROOT / "build/documents", help="an earlier run's is deleted")
    parser.add_argument("--again", action="store_true", help="in the earlier run's clone, brought up to date, with what it built")
    parser.add_argument("documents", nargs="*", type=Path, help="all without it")
    options = parser.parse_args()
    sandbox = options.sandbox.resolve()
    chosen = [path.resolve() for path in options.documents] or markdown.documents()
    clone = make_clone(sandbox, options.again)
    results = [run(path, clone, sandbox) for path in chosen]
    sys.exit(0 if all(results) else 1)


main()
