
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const shade = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", shade);
shade();

// "81.8 [81.0, 82.7]" and "−0.12 °" sort by the number they begin with, what has none comes last.
const leading = (text) => {
  const found = String(text).replace(/<[^>]*>/g, "").replace(/−/g, "-").replace(/,(?=\d{3})/g, "").match(/^\s*\**[+-]?\d*\.?\d+(e[+-]?\d+)?/);
  return found ? parseFloat(found[0].replace(/\*/g, "")) : -Infinity;
};
DataTable.type("leading", { order: { pre: leading } });

const escaped = (text) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
const element = (id) => document.getElementById(id);

// Tables with one row a thing can be sorted; those that group rows, as the papers print them, stay as they are.
for (const table of document.querySelectorAll(".page table, #times table")) {
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  const names = rows.map((row) => row.join("|"));
  if (rows.length < 3 || rows.some((row) => !row[0] || row[0] === "interval") || new Set(names).size < names.length) continue;
  const numeric = rows[0].map((_, at) => rows.filter((row) => leading(row[at]) > -Infinity).length > rows.length / 2);
  new DataTable(table, {
    paging: rows.length > 50, pageLength: 50, searching: rows.length > 15, info: rows.length > 50, order: [], autoWidth: false,
    columnDefs: [{ targets: numeric.flatMap((is, at) => (is ? [at] : [])), type: "leading" }],
  });
}

async function unpacked() {
  const bytes = Uint8Array.from(atob(element("data").textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Positions count characters as Python does, not UTF-16 units.
function marked(text, edits) {
  const letters = Array.from(text);
  const piece = (from, to) => escaped(letters.slice(from, to).join(""));
  let before = "", after = "", place = 0;
  for (let at = 0; at < edits.length; at += 3) {
    const [start, end, replacement] = edits.slice(at, at + 3);
    const same = piece(place, start);
    before += `${same}<del>${piece(start, end)}</del>`;
    after += `${same}<ins>${escaped(replacement)}</ins>`;
    place = end;
  }
  return [before + piece(place), after + piece(place)];
}

function showOperators(operators) {
  new DataTable(element("operator-table"), {
    data: operators.rows, deferRender: true, order: [], autoWidth: false, pageLength: 10,
    columns: operators.columns.map((title, at) => ({ title, type: at > 1 ? "leading" : undefined, render: DataTable.render.text() })),
  });
}

function showTexts(data) {
  const OUTCOMES = { f: "fooled", w: "withstood", x: "wrong before", "-": "not asked" };
  const choose = (id, names, labels) => labels.forEach((label, at) => element(id).add(new Option(label, names[at])));
  choose("by-detector", data.detectors.map((_, at) => at), data.labels);
  element("by-detector").value = data.plain;
  choose("by-group", ["", ...data.groups.keys()], ["all", ...data.groups]);
  let detector = data.plain;
  const plainText = (row) => {
    const letters = Array.from(data.texts[row[1]]);
    for (let at = row[3].length - 3; at >= 0; at -= 3) letters.splice(row[3][at], row[3][at + 1] - row[3][at], row[3][at + 2]);
    return letters.join("");
  };
  const score = (row, place) => (row[place][detector] === null ? "–" : (row[place][detector] / 1000).toFixed(3));
  const column = (title, show, plain, more = {}) => ({
    title, data: null, ...more,
    render: (_, kind, row) => (kind === "display" ? show(row) : plain(row)),
    createdCell: (cell) => cell.setAttribute("data-label", title),
  });
  const number = { className: "number", type: "num" };
  const value = (place) => (row) => row[place][detector] ?? -1;
  const table = new DataTable(element("text-table"), {
    data: data.rows, deferRender: true, autoWidth: false, pageLength: 10, order: [],
    columns: [
      column("Set", (row) => escaped(data.groups[row[0]]), (row) => data.groups[row[0]]),
      column("Class", (row) => escaped(row[2]), (row) => row[2]),
      column("Before", (row) => marked(data.texts[row[1]], row[3])[0], (row) => data.texts[row[1]], { className: "text" }),
      column("After", (row) => marked(data.texts[row[1]], row[3])[1], plainText, { className: "text" }),
      column("Outcome", (row) => OUTCOMES[row[4][detector]], (row) => OUTCOMES[row[4][detector]]),
      column("Score before", (row) => score(row, 5), value(5), number),
      column("Score after", (row) => score(row, 6), value(6), number),
    ],
    drawCallback() { element("text-table").style.width = ""; },
  });
  const wanted = { group: "", outcome: "" };
  table.search.fixed("chosen", (_, row) => {
    const outcome = row[4][detector];
    return outcome !== "-" && (wanted.group === "" || row[0] === +wanted.group) && (!wanted.outcome || outcome === wanted.outcome);
  });
  const count = () => {
    const rows = table.rows({ search: "applied" }).data().toArray();
    const of = (outcome) => rows.filter((row) => row[4][detector] === outcome).length;
    element("counted").textContent = `${data.labels[detector]}: ${rows.length.toLocaleString("en")} texts, ${of("f").toLocaleString("en")} fooled, ${of("w").toLocaleString("en")} withstood, ${of("x").toLocaleString("en")} wrong before.`;
  };
  const again = () => { table.draw(); };
  table.on("draw", count);
  element("by-detector").addEventListener("change", (event) => { detector = +event.target.value; table.rows().invalidate(); again(); });
  element("by-group").addEventListener("change", (event) => { wanted.group = event.target.value; again(); });
  element("by-outcome").addEventListener("change", (event) => { wanted.outcome = event.target.value; again(); });
  again();
}

const data = await unpacked();
if (data.operators) showOperators(data.operators);
if (data.rows.length) showTexts(data);
document.documentElement.dataset.ready = "yes";
