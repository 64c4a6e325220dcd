"""The fenced blocks, headings and links of the project's documents."""
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"sh", "console", "cpp", "c", "cmake", "json", "text"}
NOTES = {"not run", "output of", "file"}


@dataclass
class Block:
    """A fenced block; `line` is that of its first line, `notes` what comments right before it say."""
    path: Path
    line: int
    language: str
    text: str
    notes: dict

    def place(self):
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def documents():
    """README first, then getting started, the others by name."""
    found = list(ROOT.glob("*.md"))
    for folder in ("docs", "examples", "tests", "bench"):
        found += (ROOT / folder).rglob("*.md")
    first = [ROOT / "README.md", ROOT / "docs/getting-started.md"]
    return first + sorted(path for path in found if path not in first)


def blocks(path):
    found, notes, block = [], {}, None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if block is not None:
            if line.strip() == "```":
                found.append(block)
                block, notes = None, {}
            else:
                block.text += line + "\n"
        elif line.startswith("```"):
            block = Block(path, number + 1, line[3:].strip(), "", notes)
        elif comment := re.fullmatch(r"<!-- ([a-z ]+): (.+) -->", line):
            notes[comment[1]] = comment[2]
        elif line.strip():
            notes = {}
    return found


def prose(path):
    """The lines outside fenced blocks, with inline code taken out."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, re.sub(r"`[^`]*`", "", line)


def anchors(path):
    """What a link may name after #, as GitHub makes it from headings."""
    found, inside = set(), False
    for line in path.read_text(encoding="utf-8").splitlines():
        inside ^= line.startswith("```")
        if not inside and (heading := re.match(r"#+ (.*)", line)):
            kept = re.sub(r"[^\w\- ]", "", heading[1].strip().lower())
            found.add(kept.replace(" ", "-"))
    return found


def links(path):
    """(line, target) of every link and image."""
    for number, line in prose(path):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            yield number, target
