"""One static HTML page on which people judge pairs of a clean and a perturbed text. Source: NoisyHate, 3.4, Table 4 and Figure 5.

The page needs no server and no network: texts, style and code are in the one file, and its content policy forbids it to load
anything. For each pair a worker waits five seconds, picks the perturbed word (the attention question) and says how likely it is that a
person wrote it so, from 1 to 5. The answers stay in the browser until the worker downloads them as JSON; `answers` reads that file.
"""

import html
import json
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from muattack.errors import InputError
from muattack.records import write_text
from muattack.seeds import digest

FORMAT = "muattack judgements"
VERSION = 1
# Seconds before a pair can be answered.
WAIT = 5
TITLE = "Judging perturbed texts"


class Task(NamedTuple):
    """A pair as the page shows it: its id, the words of both texts, parted by blanks, and which of them was perturbed, from 0."""

    id: str
    clean: tuple[str, ...]
    perturbed: tuple[str, ...]
    place: int


def tasks(pairs: pd.DataFrame, clean: str = "clean", perturbed: str = "perturbed") -> list[Task]:
    """Return the pairs of a table as tasks, in its order; `clean` and `perturbed` name its columns, beside `id`.

    Raises InputError for an id that is there twice, and for a pair that does not differ in exactly one word.
    """
    found: dict[str, Task] = {}
    for name, one, other in zip(pairs["id"].astype(str), pairs[clean], pairs[perturbed], strict=True):
        if not isinstance(one, str) or not isinstance(other, str):
            raise InputError(f"The pair {name} to be judged has a text that is none. Give two texts, or take the pair out.")
        words, forms = tuple(one.split()), tuple(other.split())
        differ = [at for at, (word, form) in enumerate(zip(words, forms, strict=False)) if word != form]
        if len(words) != len(forms) or len(differ) != 1:
            raise InputError(
                f"The pair {name} to be judged has {len(words)} and {len(forms)} words, {len(differ)} of them different; exactly one word may differ, at the same place. Take the pair out."
            )
        if name in found:
            raise InputError(f"Two pairs to be judged have the id {name}. Give each its own.")
        found[name] = Task(name, words, forms, differ[0])
    if not found:
        raise InputError("There are no pairs to be judged. Give one at least.")
    return list(found.values())


def batch_name(batch: list[Task]) -> str:
    """Return the name that ties a page and its answers together: a digest of the pairs, 16 hexadecimal digits."""
    return f"{digest(json.dumps(batch)):016x}"


def render(batch: list[Task], title: str = TITLE, wait: int = WAIT) -> str:
    """Return the page as HTML. `wait` is in whole seconds."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "batch": batch_name(batch),
        "wait": wait,
        "pairs": [{"id": task.id, "clean": task.clean, "perturbed": task.perturbed} for task in batch],
    }
    # No text can end the script element that carries it, whatever it holds.
    embedded = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    values = {"TITLE": html.escape(title), "DATA": embedded, "WAIT": str(wait), "COUNT": str(len(batch))}
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: values[match[1]], PAGE)


def write_page(
    path: str | Path, pairs: pd.DataFrame, title: str = TITLE, wait: int = WAIT, clean: str = "clean", perturbed: str = "perturbed"
) -> str:
    """Write the page for a table of pairs, completely or not at all; return the batch's name. Raises InputError."""
    batch = tasks(pairs, clean, perturbed)
    write_text(path, render(batch, title, wait))
    return batch_name(batch)


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>{{TITLE}}</title>
<style>
:root { color-scheme: light; --ink: #1b1f24; --soft: #57606a; --line: #8c959f; --paper: #fff; --wash: #f3f5f7; --mark: #0b5cad; --pair: #dcebfa; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--wash); color: var(--ink); font: 1.05rem/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.35rem; margin: 0 0 1rem; }
h2 { font-size: 1.1rem; margin: 0 0 .75rem; }
h3 { font-size: .85rem; margin: .9rem 0 .3rem; color: var(--soft); font-weight: 600; }
section { background: var(--paper); border: 1px solid #d0d7de; border-radius: .6rem; padding: 1.25rem; }
[hidden] { display: none !important; }
.words { display: flex; flex-wrap: wrap; gap: .15rem; }
.words button { font: inherit; color: inherit; background: none; border: 2px solid transparent; border-radius: .35rem; padding: .1rem .3rem; cursor: pointer; }
.words button.paired { background: var(--pair); }
.words button[aria-pressed="true"] { border-color: var(--mark); background: var(--pair); }
.words button[aria-disabled="true"], label[data-off] { cursor: not-allowed; color: var(--soft); }
fieldset { border: 0; margin: 1.25rem 0 0; padding: 0; }
legend { font-weight: 600; padding: 0; margin-bottom: .35rem; }
.scale label { display: flex; gap: .6rem; align-items: baseline; padding: .15rem 0; }
.act { font: inherit; font-weight: 600; color: #fff; background: var(--mark); border: 2px solid var(--mark); border-radius: .4rem; padding: .45rem 1.1rem; cursor: pointer; }
.act:disabled { background: #d8dee4; border-color: #d8dee4; color: #57606a; cursor: not-allowed; }
button:focus-visible, input:focus-visible, h2:focus-visible, textarea:focus-visible { outline: 3px solid #c2410c; outline-offset: 2px; }
h2:focus { outline-offset: 4px; }
.wait { font-variant-numeric: tabular-nums; color: var(--soft); margin: .75rem 0 0; min-height: 1.6em; }
.last { display: flex; gap: 1rem; align-items: center; margin-top: 1.25rem; }
input[type="text"] { font: inherit; padding: .35rem .5rem; border: 1px solid var(--line); border-radius: .35rem; width: 16rem; max-width: 100%; }
textarea { width: 100%; height: 9rem; font: .85rem/1.4 ui-monospace, monospace; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
th, td { text-align: left; padding: .15rem 1.25rem .15rem 0; font-weight: 400; vertical-align: top; }
thead th { color: var(--soft); font-size: .85rem; }
progress { width: 100%; accent-color: var(--mark); }
.count { color: var(--soft); margin: 0 0 .25rem; }
</style>
</head>
<body>
<main>
<h1>{{TITLE}}</h1>
<noscript><p>This page needs JavaScript. It loads nothing from the network.</p></noscript>

<section id="start" aria-labelledby="start-title">
<h2 id="start-title">Before you begin</h2>
<p>You will see {{COUNT}} pairs of texts. In the second text of each pair one word is written in another way, as people on the net write words: to get past
a filter, to catch the eye, or for fun. For each pair, pick that word, then say how likely it is that a person wrote it this way.</p>
<table>
<caption class="count" style="text-align: left">Examples</caption>
<thead><tr><th scope="col">word</th><th scope="col">likely written by a person</th><th scope="col">unlikely: another word, or a slip</th></tr></thead>
<tbody>
<tr><td>silly</td><td>sillyyy, s1lly, SiLLy</td><td>sally</td></tr>
<tr><td>people</td><td>ppl, peeeople</td><td>peopqe</td></tr>
</tbody>
</table>
<p>Each pair is shown for {{WAIT}} s before you can answer. You can use the mouse or the keyboard: Tab moves on, the arrow keys move between words
and choices, Enter or Space picks, and 1 to 5 answer the second question. Nothing leaves this page until you download your answers at the end.</p>
<form id="begin" autocomplete="off">
<p><label for="worker">Your name or number, as agreed with whoever sent you this page</label><br>
<input type="text" id="worker" required maxlength="60" pattern="[A-Za-z0-9._\\-]+" aria-describedby="worker-hint">
<br><span id="worker-hint" class="count">Letters, digits, dot, dash and underscore; no blanks.</span></p>
<button class="act" type="submit">Begin</button>
</form>
</section>

<section id="task" aria-labelledby="task-title" hidden>
<p class="count" id="count"></p>
<progress id="bar" max="{{COUNT}}" value="0" aria-label="Pairs answered"></progress>
<h2 id="task-title" tabindex="-1"></h2>
<p class="wait" id="wait"></p>
<p id="news" role="status" style="position: absolute; left: -99rem"></p>
<div role="group" aria-labelledby="pick">
<p id="pick" style="font-weight: 600; margin: .5rem 0 0">1. Which word is written in another way? Pick it.</p>
<h3 id="clean-title">Clean text</h3>
<div class="words" id="clean" role="group" aria-labelledby="clean-title"></div>
<h3 id="perturbed-title">Perturbed text</h3>
<div class="words" id="perturbed" role="group" aria-labelledby="perturbed-title"></div>
</div>
<fieldset class="scale" id="scale">
<legend>2. How likely is it that a person wrote it this way?</legend>
<label><input type="radio" name="quality" value="5"> 5, very likely</label>
<label><input type="radio" name="quality" value="4"> 4, likely</label>
<label><input type="radio" name="quality" value="3"> 3, hard to say</label>
<label><input type="radio" name="quality" value="2"> 2, unlikely</label>
<label><input type="radio" name="quality" value="1"> 1, very unlikely</label>
</fieldset>
<div class="last"><button class="act" id="next" type="button" disabled>Next</button></div>
</section>

<section id="end" aria-labelledby="end-title" hidden>
<h2 id="end-title" tabindex="-1">Thank you, that was the last pair</h2>
<p>Download your answers and send the file, as it is, to whoever sent you this page. Please do not edit it: an edited file is refused.</p>
<p><button class="act" id="save" type="button">Download the answers</button></p>
<p id="saved" role="status"></p>
<p><label for="plain">If the download does not work, copy this text into a file that ends in .json:</label></p>
<textarea id="plain" readonly></textarea>
</section>
</main>

<script type="application/json" id="data">{{DATA}}</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const state = { worker: "", answers: [], picked: null, quality: null, open: false, shown: 0, saved: true, timer: null };
const key = () => "muattack " + data.batch + " " + state.worker;

// Kept in the browser, so that a closed window loses nothing; some browsers refuse that for files, and then it goes on without.
function remember() { try { localStorage.setItem(key(), JSON.stringify(state.answers)); } catch (error) { /* not kept */ } }
function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(key()) || "[]");
    const fits = Array.isArray(kept) && kept.length <= data.pairs.length && kept.every((one, at) => one && one.pair === data.pairs[at].id);
    return fits ? kept : [];
  } catch (error) { return []; }
}

// CRC-32 of UTF-8, as zlib computes it: it tells an edited file from one as it was downloaded.
function crc32(text) {
  let crc = -1;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return (crc ^ -1) >>> 0;
}
function result() {
  const lines = [data.format, data.version, data.batch, state.worker, data.wait];
  for (const one of state.answers) lines.push(one.pair, one.word, one.quality, one.ms);
  const whole = { format: data.format, version: data.version, batch: data.batch, worker: state.worker, wait: data.wait, answers: state.answers };
  return JSON.stringify({ ...whole, check: crc32(lines.join("\\n")) }, null, 1) + "\\n";
}

function show(name) { for (const one of ["start", "task", "end"]) element(one).hidden = one !== name; }
const buttons = (row) => [...element(row).children];

function paint() {
  for (const row of ["clean", "perturbed"]) {
    buttons(row).forEach((button, at) => {
      button.setAttribute("aria-pressed", String(at === state.picked));
      button.setAttribute("aria-disabled", String(!state.open));
    });
  }
  for (const radio of document.getElementsByName("quality")) {
    radio.disabled = !state.open;
    radio.checked = Number(radio.value) === state.quality;
    radio.parentElement.toggleAttribute("data-off", !state.open);
  }
  element("next").disabled = !(state.open && state.picked !== null && state.quality !== null);
}
// Figure 5 of the paper: the pair of words under the pointer is shown in both texts.
function pair(at) { for (const row of ["clean", "perturbed"]) buttons(row).forEach((button, place) => button.classList.toggle("paired", place === at)); }
function pick(at) { if (state.open) { state.picked = at; paint(); } }
function step(row, from, by) {
  const all = buttons(row);
  const to = Math.min(Math.max(by === Infinity ? all.length - 1 : by === -Infinity ? 0 : from + by, 0), all.length - 1);
  all.forEach((button, at) => { button.tabIndex = at === to ? 0 : -1; });
  all[to].focus();
}

function fill(row, words) {
  element(row).replaceChildren(...words.map((word, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    // One stop of the Tab key for a text; arrows move inside it.
    button.tabIndex = at ? -1 : 0;
    button.addEventListener("click", () => pick(at));
    button.addEventListener("focus", () => pair(at));
    button.addEventListener("mouseenter", () => pair(at));
    button.addEventListener("mouseleave", () => pair(null));
    button.addEventListener("blur", () => pair(null));
    button.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
      if (by !== undefined) { event.preventDefault(); step(row, at, by); }
    });
    return button;
  }));
}

function tick() {
  const left = Math.ceil(data.wait - (performance.now() - state.shown) / 1000);
  if (left > 0) { element("wait").textContent = "Please read both texts. You can answer in " + left + " s."; return; }
  clearInterval(state.timer);
  state.open = true;
  element("wait").textContent = "You can answer now.";
  element("news").textContent = "You can answer now.";
  paint();
}

function ask() {
  const number = state.answers.length;
  element("bar").value = number;
  if (number === data.pairs.length) {
    show("end");
    element("plain").value = result();
    element("end-title").focus();
    return;
  }
  const now = data.pairs[number];
  Object.assign(state, { picked: null, quality: null, open: false, shown: performance.now() });
  element("count").textContent = number + " of " + data.pairs.length + " answered";
  element("task-title").textContent = "Pair " + (number + 1) + " of " + data.pairs.length;
  element("news").textContent = "";
  fill("clean", now.clean);
  fill("perturbed", now.perturbed);
  show("task");
  paint();
  element("task-title").focus();
  clearInterval(state.timer);
  state.timer = setInterval(tick, 100);
  tick();
}

element("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  state.worker = element("worker").value.trim();
  state.answers = recall();
  state.saved = false;
  ask();
});
element("scale").addEventListener("change", (event) => { state.quality = Number(event.target.value); paint(); });
element("next").addEventListener("click", () => {
  const ms = Math.round(performance.now() - state.shown);
  state.answers.push({ pair: data.pairs[state.answers.length].id, word: state.picked, quality: state.quality, ms });
  remember();
  ask();
});
document.addEventListener("keydown", (event) => {
  if (element("task").hidden || !state.open || event.ctrlKey || event.altKey || event.metaKey) return;
  if (/^[1-5]$/.test(event.key)) { state.quality = Number(event.key); paint(); }
});
element("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([result()], { type: "application/json" }));
  link.download = "judgements-" + data.batch + "-" + state.worker + ".json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  state.saved = true;
  element("saved").textContent = "The file " + link.download + " is in your downloads.";
});
window.addEventListener("beforeunload", (event) => { if (!state.saved && state.answers.length) event.preventDefault(); });
</script>
</body>
</html>
"""
