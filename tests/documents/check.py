#!/usr/bin/env python3
"""Checks the documents: languages of blocks, links, the program's help, C and C++ snippets.

    check.py [--program F] [--cxx F --cc F --library F] [--write]

The help is compared with --program (--write replaces it in the documents), snippets are compiled by --cxx and --cc; whole
programs are linked with --library and run.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import markdown

HERE = Path(__file__).resolve().parent


def check_blocks():
    for path in markdown.documents():
        for block in markdown.blocks(path):
            if block.language not in markdown.LANGUAGES:
                yield f"{block.place()}: expected a block of {', '.join(sorted(markdown.LANGUAGES))}, got '{block.language}'"
            for note in block.notes.keys() - markdown.NOTES:
                yield f"{block.place()}: expected a comment of {', '.join(sorted(markdown.NOTES))}, got '{note}'"
            if block.language == "json":
                try:
                    json.loads(block.text)
                except json.JSONDecodeError as error:
                    yield f"{block.place()}: {error}"


def check_links():
    for path in markdown.documents():
        for line, target in markdown.links(path):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            place = f"{path.relative_to(markdown.ROOT)}:{line}"
            if not file.exists():
                yield f"{place}: no file {target}"
            elif anchor and anchor not in markdown.anchors(file):
                yield f"{place}: no heading {target}"


def check_outputs(program, write):
    """Blocks that are the output of a command of the program."""
    count = 0
    for path in markdown.documents():
        for block in markdown.blocks(path):
            command = block.notes.get("output of")
            if command is None:
                continue
            count += 1
            output = subprocess.run([program, *command.split()[1:]], capture_output=True, text=True, check=True).stdout
            output = "".join(line.rstrip() + "\n" for line in output.strip().splitlines())
            if output == block.text:
                continue
            if write:
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(f"```{block.language}\n{block.text}```", f"```{block.language}\n{output}```", 1),
                                encoding="utf-8")
            else:
                yield f"{block.place()}: not what '{command}' prints; tests/documents/check.py --program {program} --write"
    if not count:
        yield "no document shows the program's help"


def as_function(block, number):
    """The snippet as the body of a function, its #include lines first."""
    includes = "".join(line + "\n" for line in block.text.splitlines() if line.startswith("#include"))
    body = re.sub(r"^#include.*$", "", block.text, flags=re.MULTILINE)
    return includes, f'void snippet_{number}(void) {{\n#line {block.line} "{block.path.relative_to(markdown.ROOT)}"\n{body}}}\n'


def compile_snippets(compiler, options, blocks, header, file):
    includes, functions = zip(*(as_function(block, number) for number, block in enumerate(blocks)))
    file.write_text("".join(includes) + f'#include "{HERE / header}"\n' + "".join(functions), encoding="utf-8")
    return subprocess.run([compiler, *options, f"-I{markdown.ROOT}/runtime/include", "-fsyntax-only", file],
                          capture_output=True, text=True)


def run_program(compiler, block, library, folder):
    source, binary = folder / "program.cpp", folder / "program"
    source.write_text(block.text, encoding="utf-8")
    compiled = subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{markdown.ROOT}/runtime/include", source,
                               library, "-lpthread", "-o", binary], capture_output=True, text=True)
    if compiled.returncode:
        return compiled.stderr
    ran = subprocess.run([binary], capture_output=True, text=True)
    return f"exit code {ran.returncode}: {ran.stdout}{ran.stderr}" if ran.returncode else ""


def check_snippets(cxx, cc, library):
    blocks = [block for path in markdown.documents() for block in markdown.blocks(path)]
    programs = [block for block in blocks if block.language == "cpp" and "int main(" in block.text]
    if not programs:
        yield "no document shows a program"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for block in programs:
            if message := run_program(cxx, block, library, folder):
                yield f"{block.place()}: {message}"
        for language, compiler, options, header in (("cpp", cxx, ["-std=c++17"], "snippets.hpp"),
                                                    ("c", cc, ["-std=c99"], "snippets.h")):
            parts = [block for block in blocks if block.language == language and "int main(" not in block.text]
            compiled = compile_snippets(compiler, options, parts, header, folder / f"snippets.{language}")
            if compiled.returncode:
                yield compiled.stderr


def main():
    os.chdir(markdown.ROOT)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/flashwright")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--library", default="build/release/lib/libflashwright.a")
    parser.add_argument("--write", action="store_true", help="write the program's help into the documents")
    options = parser.parse_args()
    failures = [*check_outputs(options.program, options.write), *check_blocks(), *check_links()]
    if not options.write:
        failures += check_snippets(options.cxx, options.cc, options.library)
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


main()
