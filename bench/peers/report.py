"""The results as a table in Markdown and as a plot."""

import math
from statistics import median

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from cases import Case

UNITS = "batch × heads, seqlen, head_dim"


class Summary:
    """All rounds together: the times of each implementation's fastest variant."""

    def __init__(self, results):
        self.results = results
        self.names = list(results["implementations"])
        every, wrong = {}, set()
        for row in results["measurements"]:
            key = row["op"], row["case"], row["implementation"], row["variant"]
            if "error" in row:
                wrong.add(key)
            else:
                every.setdefault(key, []).extend(row["ms"])
        self.times = {}
        for key, times in every.items():
            if key not in wrong:
                other = self.times.get(key[:3], times)
                self.times[key[:3]] = min(times, other, key=min)

    def best(self, op, case, name):
        return min(self.times.get((op, case, name), [math.nan]))

    def noise(self, op, name):
        own = [t for (o, _, n), t in self.times.items() if (o, n) == (op, name)]
        return median(median(times) / min(times) - 1 for times in own)

    def title(self, name):
        implementation = self.results["implementations"][name]
        return f"{implementation['title']} {implementation['version']}"

    @property
    def conditions(self):
        threads = self.results["threads"]
        plural = "s" if threads > 1 else ""
        return f"{self.results['machine']}, {threads} thread{plural}, f32"

    def measured(self):
        """Every op with the implementations that have times of it."""
        for op in self.results["ops"]:
            having = {name for other, _, name in self.times if other == op}
            if having:
                yield op, [name for name in self.names if name in having]


def cell(ms, fastest):
    if math.isnan(ms):
        return "-"
    text = f"{ms:.{max(0, 2 - math.floor(math.log10(ms)))}f}"  # three digits
    return f"**{text}**" if ms == fastest else text


def table(summary, op, names):
    rows = [[f"{op}: {UNITS}", *map(summary.title, names)], ["---"] * (len(names) + 1)]
    for case in summary.results["cases"]:
        times = [summary.best(op, case, name) for name in names]
        fastest = np.nanmin(times)
        rows.append([Case.parse(case).label, *(cell(ms, fastest) for ms in times)])
    noise = [f"{summary.noise(op, name):.0%}" for name in names]
    rows.append(["median above the minimum", *noise])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def left_out(results):
    yield from results["skipped"].items()
    for row in results["measurements"]:
        if "error" in row:
            what = (row[key] for key in ("implementation", "variant", "op", "case"))
            yield " ".join(filter(None, what)), row["error"]


def markdown(summary):
    results = summary.results
    return "\n\n".join(
        [
            f"{summary.conditions}. Milliseconds, the least of all repetitions; "
            f"{results['rounds']} × {results['seconds']:g} s a cell, {results['date']}.",
            *(table(summary, op, names) for op, names in summary.measured()),
            *(f"Not measured: {name}: {why}" for name, why in left_out(results)),
        ]
    )


def bars(axes, summary, op, names):
    cases = [Case.parse(case) for case in summary.results["cases"]]
    width = 0.84 / len(names)
    for index, name in enumerate(names):
        axes.bar(
            np.arange(len(cases)) + (index - (len(names) - 1) / 2) * width,
            [
                case.flops(op) / summary.best(op, str(case), name) / 1e6
                for case in cases
            ],
            width,
            label=summary.title(name),
            color=f"C{summary.names.index(name)}",
        )
    axes.set_xticks(
        range(len(cases)), [case.label.replace(", ", "\n", 1) for case in cases]
    )
    axes.margins(x=0.02)
    axes.set_ylabel(f"{op}, GFLOP/s")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)


def plot(summary, path):
    matplotlib.rcParams.update({"svg.hashsalt": "flashwright", "font.size": 9})
    measured = list(summary.measured())
    size = (9, 0.6 + 2.6 * len(measured))
    figure, rows = plt.subplots(
        len(measured), figsize=size, squeeze=False, layout="constrained"
    )
    for (axes,), (op, names) in zip(rows, measured):
        bars(axes, summary, op, names)
    figure.suptitle(f"{summary.conditions}; {UNITS}; higher is better", fontsize=9)
    legend = {"loc": "outside lower center", "frameon": False, "fontsize": 8}
    handles = rows[0][0].get_legend_handles_labels()
    figure.legend(*handles, ncols=len(summary.names), handlelength=1, **legend)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
