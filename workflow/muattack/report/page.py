"""Put the report together: template, tables, figures, facts and the viewer's data in one HTML file that loads nothing.

Jinja2 fills the template and escapes whatever it is given, markdown-it renders the tables' pages (raw HTML in them is shown, not used), DataTables
(as the package itables brings it) sorts and pages. The content policy of the page forbids it to load anything.
"""

import base64
import gzip
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import pandas as pd
import yaml
from itables.options import dt_bundle
from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from matplotlib import colormaps

from muattack.evaluate.labels import DOMAINS, SMALL, detector_label, main_detectors, reported_tasks, task_label
from muattack.evaluate.tables import NONE, interval, number, per_cent
from muattack.records import write_text
from muattack.report.headline import findings, plain_detector
from muattack.report.mutants import Viewer, as_json
from muattack.results import ROC_PREFIX

# Rows of the operators' ranking beyond which the CSV file is the better place.
OPERATORS = 5000
# An SVG larger than this goes in as its PNG.
LARGEST_SVG = 400_000
# What each figure shows; those of ablations and of families that are not named here are introduced by their file's name.
CAPTIONS = {
    "fig3a": "ROC curves of Base, trained on another domain, on the seven tasks",
    "fig3b": "Accuracy by task and detector",
    "fig4": "ROC curves of Finetune and RR in distribution",
    "fig5": "ROC curves of RR out of distribution",
    "fig6a": "ROC curves of Dropout",
    "fig6b": "ROC curves of RR",
    "fig6c": "ROC curves of RR + Dropout",
    "fig7": "AUC against m, the largest share of words that RR-training removes",
    "differences": "What RR-training changes, task by task, with paired intervals",
    "attack_accuracy": "Accuracy before and under attack",
    "attack_steps": "Clean and Aua against the number of ascent steps",
    "attack_k": "Aua and success against K_max, the substitutes of a word",
    "attack_rho": "Aua and success against the largest share of words changed",
    "attack_queries": "Aua and success against the queries allowed",
    "severity": "Accuracy and AUC against the severity of natural corruptions",
    "thresholds": "Accuracy against the decision threshold, clean and perturbed",
    "transfer": "Success of the attacks on the classifier attacked and on others",
}
# Tables that are shown in a section of their own, or as a ranking, and not among the others.
ELSEWHERE = ("operators", "attacks", "attack_examples", "attack_norm", "articles")


def heat_map(config: Mapping, metrics: pd.DataFrame, domain: str) -> dict:
    """Return the AUC of detector x task as rows of cells: shown, title, background, ink. Tasks first, then the single sets."""
    part = metrics[(metrics.domain == domain)]
    tasks = [task for task in [*reported_tasks(config), *config["mutate"]["sets"]] if (part.task == task).any()]
    table = part.set_index(["detector", "task"])
    colours = colormaps["cividis"]
    rows = []
    for name in config["detectors"]:
        cells = []
        for task in tasks:
            row = table.loc[(name, task)]
            if pd.isna(row.auc):
                cells.append({"shown": NONE, "title": row.note or "undefined", "back": "transparent", "ink": "inherit"})
                continue
            red, green, blue, _ = colours(float(row.auc))
            cells.append(
                {
                    "shown": number(row.auc, 2) + ("°" if min(row.n_human, row.n_machine) < SMALL else ""),
                    "title": f"{detector_label(name, config['detectors'])}, {task_label(task)}: AUC {number(row.auc)} {interval(row.auc_low, row.auc_high)}, n = {row.n_human} + {row.n_machine}",
                    "back": "#" + "".join(f"{round(255 * one):02x}" for one in (red, green, blue)),
                    "ink": "#000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "#fff",
                }
            )
        rows.append({"name": detector_label(name, config["detectors"]), "cells": cells})
    return {"title": DOMAINS[domain], "tasks": [task if task in config["mutate"]["sets"] else task_label(task) for task in tasks], "rows": rows}


def operator_ranking(config: Mapping, operators: pd.DataFrame) -> dict:
    """Return the operators, worst first, for DataTables: column names and rows of the main detectors' mutation scores."""
    names = [name for name in main_detectors(list(dict.fromkeys(operators.detector)), config["detectors"]) if (operators.detector == name).any()]
    order = list(dict.fromkeys(operators.operator))[:OPERATORS]
    by_name = {name: operators[operators.detector == name].set_index("operator") for name in names}
    first = by_name[names[0]]
    rows = []
    for one in order:
        shown = [
            f"{per_cent(row.fooled)} [{per_cent(row.fooled_low)}, {per_cent(row.fooled_high)}]" for row in (by_name[name].loc[one] for name in names)
        ]
        rows.append([str(first.loc[one, "set"]), str(first.loc[one, "word"]), int(first.loc[one, "mutants"]), *shown])
    return {"columns": ["Set", "Word", "Mutants", *(f"{detector_label(name, config['detectors'])}, %" for name in names)], "rows": rows}


def times_of(benchmarks: str | os.PathLike) -> list[dict]:
    """Return what each rule cost by its benchmark files: jobs, seconds, CPU seconds, largest memory (MB); of the jobs of this folder's last runs."""
    found = []
    for folder in sorted(Path(benchmarks).glob("*/")):
        tables = [pd.read_csv(path, sep="\t", na_values=["-"]) for path in sorted(folder.glob("*.tsv"))]
        if tables:
            table = pd.concat(tables, ignore_index=True)
            found.append(
                {
                    "rule": folder.name,
                    "jobs": len(tables),
                    "seconds": round(float(table["s"].sum()), 1),
                    "cpu": round(float(table["cpu_time"].sum()), 1),
                    "memory": round(float(table["max_rss"].max())) if table["max_rss"].notna().any() else None,
                }
            )
    return found


def picture(path: Path) -> dict:
    """Return a figure as a data address, with its caption: the SVG, or the PNG beside it where that one is large."""
    chosen, kind = (
        (path.with_suffix(".svg"), "svg+xml") if path.with_suffix(".svg").stat().st_size <= LARGEST_SVG else (path.with_suffix(".png"), "png")
    )
    roc = f"ROC curves of {path.stem.removeprefix(ROC_PREFIX)}" if path.stem.startswith(ROC_PREFIX) else path.stem.replace("_", " ")
    caption = CAPTIONS.get(path.stem, roc)
    return {"name": path.stem, "caption": caption, "address": Markup(f"data:image/{kind};base64,{_base64(chosen.read_bytes())}")}


def write_report(
    path: str | os.PathLike,
    config: Mapping,
    meta: Mapping,
    frames: Mapping[str, pd.DataFrame],
    pages: Mapping[str, str],
    figures: Sequence[str | os.PathLike],
    viewer: Viewer,
    times: Sequence[Mapping],
) -> None:
    """Write the report, completely or not at all.

    `frames` are the run's CSV files by name (metrics, differences, and those of its tables), `pages` the Markdown of its tables, `figures` its PNG
    files (each with an SVG beside it), `meta` its meta.json, `times` what its rules cost: the only part that knows the clock.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.core.ruler.push("one level down", _lower_headings)
    metrics = frames.get("metrics")
    detectors = {name: detector_label(name, config["detectors"]) for name in viewer.detectors}
    data = viewer.data() | {"labels": [detectors[name] for name in viewer.detectors]}
    data["plain"] = viewer.detectors.index(plain_detector(viewer.detectors)) if viewer.detectors else 0
    if "operators" in frames and len(frames["operators"]):
        data["operators"] = operator_ranking(config, frames["operators"])
    own = files(__package__)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    bundle = Path(dt_bundle)
    text = environment.from_string((own / "page.html").read_text(encoding="utf-8")).render(
        run=config["run"],
        style=Markup(bundle.with_suffix(".css").read_text(encoding="utf-8") + (own / "page.css").read_text(encoding="utf-8")),
        library=Markup(_base64(bundle.read_bytes())),
        script=Markup((own / "page.js").read_text(encoding="utf-8")),
        data=Markup(_base64(gzip.compress(as_json(data).encode(), mtime=0))),
        findings=[Markup(markdown.renderInline(sentence)) for sentence in findings(config, frames)],
        heat_maps=[heat_map(config, metrics, domain) for domain in DOMAINS if metrics is not None and (metrics.domain == domain).any()],
        figures=[picture(Path(one)) for one in figures],
        tables=[{"name": name, "body": Markup(markdown.render(page))} for name, page in pages.items() if name not in ELSEWHERE],
        elsewhere={name: Markup(markdown.render(pages[name])) for name in ELSEWHERE if name in pages},
        operators=data.get("operators"),
        small=SMALL,
        shown=len(viewer.rows),
        found=viewer.found,
        config=yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False),
        seed=config["seed"],
        versions=meta["versions"],
        machine=meta["machine"],
        inputs=meta["inputs"],
        times=times,
        device=config["device"],
        confidence=f"{100 * config['evaluate']['confidence']:g}",
    )
    write_text(path, text)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _lower_headings(state) -> None:
    """Make a page's title a heading of the second level: the report has a title of its own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1]) + 1}"
