// The page of `tensorgen play`. What is typed and chosen is one state, which lives in the
// fragment of the address; all that follows from it is what `answered` returns: a server
// answers, or Python in the browser.
"use strict";

const DELAY = 350; // milliseconds of rest before what is typed is sent
const find = (id) => document.getElementById(id);
const KINDS = ["scalar", "vector", "matrix", "symmetric", "size"];
const FIRST = { mode: "form", expression: "norm(A @ x - y)**2", kinds: {}, shapes: {},
  by: null, order: "first", spec: "", view: "formulas", of: "" };

let state = { ...FIRST };
let asking = null; // what aborts the requests under way
let timer = 0;

// --- the state and the address ----------------------------------------------------

function written() {
  const told = new URLSearchParams();
  if (state.mode === "spec") told.set("spec", state.spec);
  else {
    told.set("expression", state.expression);
    for (const [name, kind] of Object.entries(state.kinds)) told.set(`kind.${name}`, kind);
    for (const [name, shape] of Object.entries(state.shapes)) told.set(`shape.${name}`, shape);
    if (state.by) told.set("by", state.by.join(","));
    if (state.order !== FIRST.order) told.set("order", state.order);
  }
  if (state.view !== FIRST.view) told.set("view", state.view);
  if (state.of) told.set("of", state.of);
  return `#${told}`;
}

function read(fragment) {
  const told = new URLSearchParams(fragment.slice(1));
  const found = { ...FIRST, kinds: {}, shapes: {} };
  for (const [key, value] of told) {
    const [what, name] = key.split(/\.(.*)/);
    if (what === "spec") Object.assign(found, { mode: "spec", spec: value });
    else if (what === "expression") found.expression = value;
    else if (what === "kind" && KINDS.includes(value)) found.kinds[name] = value;
    else if (what === "shape") found.shapes[name] = value;
    else if (what === "by") found.by = value ? value.split(",") : [];
    else if (what === "order" && ["value", "first", "second"].includes(value)) found.order = value;
    else if (what === "of") found.of = value;
    else if (what === "view" && find(`tab-${value}`)) found.view = value;
  }
  return found;
}

function keep() {
  history.replaceState(null, "", written());
}

function given() {
  if (state.mode === "spec") return { spec: state.spec };
  const { expression, kinds, shapes, by, order } = state;
  return { expression, kinds, shapes, by, order };
}

// --- asking -----------------------------------------------------------------------

function changed(now = false) {
  keep();
  clearTimeout(timer);
  timer = setTimeout(run, now ? 0 : DELAY);
}

async function run() {
  asking?.abort();
  const own = (asking = new AbortController());
  for (const id of ["checked", "timed"]) find(id).replaceChildren();
  if (state.mode === "form" && !state.expression.trim()) {
    say("Type an expression, or start from an example.");
    showVariables([], []);
    showFault({});
    return;
  }
  find("told").classList.add("stale");
  say("Compiling …");
  const start = performance.now();
  const ask = (job) => answered(job, given(), own.signal, say);
  const one = ask("compile").then((answer) => { compiled(answer, start); return answer; });
  const other = ask("explain");
  try {
    const [made, told] = await Promise.all([one, other]);
    if (told.functions) showFunctions(told.functions);
    else if (made.modules) {
      find("functions").replaceChildren();
      find("function").replaceChildren(element("p", trouble(told)));
    }
    if (made.modules) find("told").classList.remove("stale");
  } catch (error) {
    if (error.name !== "AbortError") say(error.message);
  }
}

function trouble(answer) {
  if (answer.bug) return `This is a bug in tensorgen, not in your spec: ${answer.bug}`;
  return answer.stopped ? `Stopped: ${answer.stopped}.` : "";
}

// --- showing ----------------------------------------------------------------------

function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function say(text) {
  find("status").textContent = text;
}

function compiled(answer, start) {
  const faults = (answer.diagnostics ?? []).filter((x) => x.kind === "error").length;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (answer.stopped || answer.bug) say(trouble(answer));
  else if (faults) say(faults === 1 ? "One fault:" : `${faults} faults:`);
  else say(`Compiled in ${seconds} s.`);
  if (answer.variables) showVariables(answer.variables, answer.by);
  if (answer.spec !== undefined) find("made-text").textContent = answer.spec;
  showDiagnostics(answer.diagnostics ?? []);
  showFault(answer);
  for (const module of answer.modules ?? []) showModule(module);
}

// Beside what compiled last, so that nobody takes that for what the text says now.
function showFault(answer) {
  const first = (answer.diagnostics ?? []).find((x) => x.kind === "error");
  const text = first?.text ?? trouble(answer);
  find("fault-text").textContent = text;
  find("fault").hidden = !text;
}

function showDiagnostics(found) {
  const field = state.mode === "spec" ? find("spec") : find("expression");
  field.setAttribute("aria-invalid", String(found.some((x) => x.kind === "error")));
  find("diagnostics").replaceChildren(...found.map((one) => {
    const button = element("button", "", { type: "button", class: one.kind });
    button.append(element("pre", one.text));
    if (one.start === null) button.disabled = true;
    else {
      button.title = "Go there";
      button.addEventListener("click", () => {
        field.focus();
        field.setSelectionRange(one.start, Math.max(one.end, one.start));
      });
    }
    return button;
  }));
}

function showModule(module) {
  const bar = element("div", "", { class: "bar" });
  const copy = copier("Copy", module.text);
  const save = element("button", "Download", { type: "button" });
  save.addEventListener("click", () => download(module.name, module.text));
  bar.append(element("code", module.name), copy, save);
  const code = element("pre", "", { class: "code", tabindex: "0", role: "region", "aria-label": module.name });
  code.innerHTML = module.html; // escaped where it was made
  find(module.backend).replaceChildren(bar, code);
}

function showFunctions(found) {
  // Unless one was chosen, the first derivative, or what there is.
  const shown = found.find((x) => x.name === state.of)
    ?? found.find((x) => /_(grad|jac)$/.test(x.name)) ?? found[0];
  const pick = (one) => {
    find("function").innerHTML = one.html; // every text in it was escaped where it was made
    for (const block of find("function").querySelectorAll("[data-latex]")) {
      block.append(copier("Copy LaTeX", block.dataset.latex));
    }
  };
  find("functions").replaceChildren(...found.map((one) => {
    const [label, radio] = chip("function", one.name);
    radio.checked = one === shown;
    radio.addEventListener("change", () => {
      state.of = one.name;
      keep();
      pick(one);
    });
    return label;
  }));
  if (shown) pick(shown);
}

function chip(name, value) {
  const label = element("label");
  const radio = element("input", "", { type: "radio", name, value });
  label.append(radio, element("span", value));
  return [label, radio];
}

function copier(label, text) {
  const copy = element("button", label, { type: "button" });
  copy.addEventListener("click", async () => {
    await copied(text);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = label; }, 1500);
  });
  return copy;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/x-python" }));
  element("a", "", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Rows stay as they are as long as the variables do: a person may be at work in one.
function showVariables(variables, by) {
  const place = find("variables");
  const rows = new Map([...place.children].map((row) => [row.dataset.name, row]));
  const wanted = variables.map(({ name }) => rows.get(name) ?? variableRow(name));
  if (wanted.length !== place.children.length || wanted.some((row, k) => row !== place.children[k])) {
    place.replaceChildren(...wanted);
  }
  variables.forEach((one, k) => {
    for (const radio of wanted[k].querySelectorAll("[type=radio]")) radio.checked = radio.value === one.kind;
    const box = wanted[k].querySelector("[type=checkbox]");
    box.checked = by.includes(one.name);
    box.disabled = one.kind === "size" || state.order === "value";
    const shape = wanted[k].querySelector(".shape");
    shape.hidden = one.kind === "size" || (one.kind === "scalar" && !state.shapes[one.name]);
    shape.placeholder = one.shape;
    if (document.activeElement !== shape) shape.value = state.shapes[one.name] ?? "";
  });
}

function variableRow(name) {
  const row = element("fieldset");
  row.dataset.name = name;
  row.append(element("legend", name));
  const kinds = element("div", "", { class: "chips", role: "radiogroup", "aria-label": `kind of ${name}` });
  for (const kind of KINDS) {
    const [label, radio] = chip(`kind.${name}`, kind);
    radio.addEventListener("change", () => {
      state.kinds[name] = kind;
      delete state.shapes[name];
      changed(true);
    });
    kinds.append(label);
  }
  const shape = element("input", "", { class: "shape", "aria-label": `shape of ${name}`, spellcheck: "false", autocapitalize: "off" });
  shape.addEventListener("input", () => {
    if (shape.value.trim()) state.shapes[name] = shape.value;
    else delete state.shapes[name];
    changed();
  });
  const label = element("label", "", { class: "by" });
  const box = element("input", "", { type: "checkbox" });
  box.addEventListener("change", () => {
    const boxes = [...find("variables").querySelectorAll("[type=checkbox]")];
    state.by = boxes.filter((x) => x.checked).map((x) => x.closest("fieldset").dataset.name);
    changed(true);
  });
  label.append(box, `by ${name}`);
  row.append(kinds, shape, label);
  return row;
}

function tableOf(heads, rows) {
  const table = element("table", "", { class: "results" });
  const head = table.createTHead().insertRow();
  for (const text of heads) head.append(element("th", text, { scope: "col" }));
  const body = table.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    for (const [text, sort] of cells) row.append(element("td", text, { class: sort ?? "" }));
  }
  return table;
}

async function button(job, place, show) {
  const target = find(place);
  target.replaceChildren(element("p", "Working …"));
  try {
    const answer = await answered(job, given(), asking?.signal);
    const faults = (answer.diagnostics ?? []).some((x) => x.kind === "error");
    const why = faults ? "There are faults; they stand below the text." : trouble(answer);
    target.replaceChildren(why ? element("p", why) : show(answer));
  } catch (error) {
    target.replaceChildren(element("p", error.name === "AbortError" ? "" : String(error)));
  }
}

function checkTable({ findings }) {
  return tableOf(["function", "verdict", "error", "what", "against", "points"], findings.map((x) => [
    [x.function],
    [x.reason ? `${x.verdict}: ${x.reason}` : x.verdict, x.verdict === "WRONG" ? "wrong" : ""],
    [typeof x.worst === "number" && x.points ? x.worst.toExponential(1) : "", "figure"],
    [x.what], [x.against],
    [x.points ? String(x.points) : "", "figure"],
  ]));
}

function timeTable({ times }) {
  return tableOf(["function", "sizes", "ms"], times.map((x) => [
    [x.function], [x.sizes || "–"],
    x.milliseconds === null ? [x.reason] : [x.milliseconds.toPrecision(3), "figure"],
  ]));
}

async function bring() {
  const what = { notation: find("notation").value, text: find("formula").value };
  const answer = await answered("translate", what);
  const faults = answer.diagnostics ?? [];
  find("brought").replaceChildren(...faults.map((x) => element("pre", x.text)));
  if (!faults.length && answer.spec === undefined) find("brought").append(trouble(answer));
  if (answer.spec === undefined) return;
  start({ ...state, mode: "spec", spec: answer.spec });
  find("spec").focus();
}

// --- tabs, fields, examples ---------------------------------------------------------

function choose(tab) {
  for (const one of tab.parentElement.children) {
    const is = one === tab;
    one.setAttribute("aria-selected", String(is));
    one.tabIndex = is ? 0 : -1;
    find(one.getAttribute("aria-controls")).hidden = !is;
  }
}

function tabs(list, chosen) {
  const all = [...list.children];
  const pick = (tab) => { choose(tab); chosen(tab.id.replace("tab-", "")); };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) pick(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    pick(next);
  });
}

function show() {
  find("expression").value = state.expression;
  find("spec").value = state.spec;
  for (const radio of document.querySelectorAll("[name=order]")) radio.checked = radio.value === state.order;
  choose(find(`tab-${state.mode}`));
  choose(find(`tab-${state.view}`));
}

function start(next) {
  state = next;
  show();
  changed(true);
}

async function offer() {
  const groups = await (await fetch("examples.json")).json();
  const list = find("examples");
  const all = [];
  for (const group of groups) {
    const own = element("optgroup", "", { label: group.title });
    for (const example of group.examples) {
      own.append(element("option", example.title, { value: String(all.length) }));
      all.push(example);
    }
    list.append(own);
  }
  list.addEventListener("change", () => {
    const { title, ...example } = all[list.value] ?? {};
    list.value = "";
    if (!title) return;
    const fresh = { ...FIRST, kinds: {}, shapes: {}, view: state.view };
    const mode = example.spec === undefined ? "form" : "spec";
    start({ ...fresh, ...structuredClone(example), mode });
  });
}

function begin() {
  for (const name of ["expression", "spec"]) {
    find(name).addEventListener("input", (event) => {
      state[name] = event.target.value;
      changed();
    });
    find(name).addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) changed(true);
    });
  }
  find("orders").addEventListener("change", (event) => {
    state.order = event.target.value;
    changed(true);
  });
  find("edit").addEventListener("click", () => {
    start({ ...state, mode: "spec", spec: find("made-text").textContent });
    find("spec").focus();
  });
  find("bring").addEventListener("click", () => bring().catch((error) => {
    find("brought").replaceChildren(String(error));
  }));
  tabs(document.querySelector(".ask .tabs"), (mode) => {
    if (mode === state.mode) return;
    state.mode = mode;
    if (mode === "spec" && !state.spec) state.spec = find("made-text").textContent;
    show();
    changed(true);
  });
  tabs(find("views"), (view) => { state.view = view; keep(); });
  find("run-check").addEventListener("click", () => button("check", "checked", checkTable));
  find("run-time").addEventListener("click", () => button("time", "timed", timeTable));
  addEventListener("hashchange", () => start(read(location.hash)));
  offer().catch(() => {}); // without examples the page is the same
  start(read(location.hash));
}

begin();
