"use strict";

const get = (id) => document.getElementById(id);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const task = JSON.parse(get("record").textContent);
const facts = JSON.parse(get("facts").textContent);
const images = task.images;
const isFilter = task.classes.length === 0;

/* The answers, what was answered before each, and the classes that were added. They are kept in the
   browser under the hash of the page, as far as the browser allows it. */
let state = { answers: {}, past: [], added: [], at: 0 };
try {
  const kept = JSON.parse(localStorage.getItem(facts.key));
  if (kept) state = kept;
} catch (error) {
  /* Nothing is kept, which `keep` says. */
}
let unsaved = 0;
const tell = (...parts) => get("told").replaceChildren(...parts);
const keep = () => {
  try {
    localStorage.setItem(facts.key, JSON.stringify(state));
  } catch (error) {
    tell("This browser keeps no answers: save them before you close the page.");
  }
};

const choices = () =>
  isFilter
    ? [[facts.keep, "Keep"], [facts.none, "Drop"]]
    : [...task.classes, ...state.added].map((name) => [name, name]).concat([[facts.none, "None of these"]]);
const isDone = (k) => state.answers[k] !== undefined;
const nextOpen = (from) => {
  for (let step = 1; step <= images.length; step += 1) {
    const k = (from + step) % images.length;
    if (!isDone(k)) return k;
  }
  return null;
};

const keyOf = (k, value) => {
  if (value === facts.none) return isFilter ? "2" : "0";
  return k < 9 ? String(k + 1) : "";
};
const drawChoices = () => {
  const image = images[state.at];
  const chances = new Map(image.guesses);
  const buttons = choices().map(([value, text], k) => {
    const button = make("button", undefined, value === facts.none ? "none" : "");
    button.type = "button";
    button.dataset.value = value;
    const key = keyOf(k, value);
    if (key) button.append(make("kbd", key));
    button.append(make("span", text, "name"));
    if (value === image.label) button.append(make("small", "its label"));
    if (chances.has(value)) {
      const chance = chances.get(value);
      button.append(make("small", chance < 0.01 ? "<1%" : `${Math.round(100 * chance)}%`));
      const line = make("span", undefined, "chance");
      line.style.width = `${100 * chance}%`;
      button.append(line);
    }
    button.setAttribute("aria-pressed", String(state.answers[state.at] === value));
    button.addEventListener("click", () => answer(value));
    return button;
  });
  get("choices").replaceChildren(...buttons);
  get("choices").classList.toggle("many", buttons.length > 10);
};
const draw = () => {
  const image = images[state.at];
  const uri = facts.pictures[state.at];
  get("picture").hidden = uri === null;
  get("gone").hidden = uri !== null;
  if (uri !== null) {
    get("picture").src = uri;
    get("picture").alt = `Image ${state.at + 1}: ${image.path}`;
  }
  get("place").textContent = `Image ${state.at + 1} of ${images.length}`;
  get("path").textContent = image.path;
  get("pool").textContent = image.pool;
  get("note").textContent = image.note;
  drawChoices();
  const nDone = Object.keys(state.answers).length;
  get("bar").value = nDone;
  get("count").textContent = `${nDone} of ${images.length} answered`;
  get("undo").disabled = state.past.length === 0;
  get("save").disabled = nDone === 0;
  [...get("all").querySelectorAll("button")].forEach((dot, k) => {
    dot.className = isDone(k) ? (state.answers[k] === facts.none ? "done is-none" : "done") : "";
    dot.title = isDone(k) ? `${images[k].path}: ${state.answers[k]}` : images[k].path;
    dot.tabIndex = k === state.at ? 0 : -1;
    if (k === state.at) dot.setAttribute("aria-current", "true");
    else dot.removeAttribute("aria-current");
  });
};
const go = (k) => {
  state.at = (k + images.length) % images.length;
  document.querySelector(".stage").classList.remove("own");
  keep();
  draw();
};

const answer = (value) => {
  state.past.push([state.at, state.answers[state.at] ?? null]);
  state.answers[state.at] = value;
  unsaved += 1;
  tell();
  const open = nextOpen(state.at);
  go(open ?? state.at);
  if (open === null) {
    tell("Every image has an answer: save them.");
    get("save").focus();
  }
};
const undo = () => {
  const last = state.past.pop();
  if (!last) return;
  const [k, before] = last;
  if (before === null) delete state.answers[k];
  else state.answers[k] = before;
  unsaved += 1;
  tell();
  go(k);
};
const addClass = (text) => {
  const name = text.trim();
  if (!name) return;
  if ([facts.none, facts.keep].includes(name)) {
    tell(`${name} has a meaning of its own: choose another name.`);
    return;
  }
  if (![...task.classes, ...state.added].includes(name)) {
    state.added.push(name);
    get("names").append(Object.assign(make("option"), { value: name }));
  }
  answer(name);
};

/* A text that a spreadsheet would run as a formula gets a leading quote, as in other lists. */
const field = (value) => {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const table = () => {
  const rows = images.flatMap((image, k) =>
    isDone(k) ? [[image.pool, image.path, String(image.index), state.answers[k]]] : [],
  );
  return [facts.columns, ...rows].map((row) => `${row.map(field).join(",")}\n`).join("");
};
const save = () => {
  if (get("save").disabled) return;
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
  link.download = facts.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  unsaved = 0;
  const said = [`Saved ${Object.keys(state.answers).length} answers as ${facts.file} in your downloads.`];
  if (task.command) said.push(" Next: ", make("code", task.command));
  tell(...said);
};

get("undo").addEventListener("click", undo);
get("save").addEventListener("click", save);
get("back").addEventListener("click", () => go(state.at - 1));
get("forth").addEventListener("click", () => go(state.at + 1));
const stage = document.querySelector(".stage");
get("picture").addEventListener("click", () => stage.classList.toggle("own"));
get("picture").addEventListener("load", () => {
  get("picture").classList.toggle("tiny", get("picture").naturalWidth <= 96);
});
if (!isFilter) {
  get("new").addEventListener("submit", (event) => {
    event.preventDefault();
    addClass(get("word").value);
    get("word").value = "";
    get("word").blur();
  });
  get("names").append(
    ...[...task.classes, ...state.added].map((name) => Object.assign(make("option"), { value: name })),
  );
}
get("all").append(
  ...images.map((image, k) => {
    const item = make("li");
    const dot = make("button", String(k + 1));
    dot.type = "button";
    dot.addEventListener("click", () => go(k));
    item.append(dot);
    return item;
  }),
);

document.addEventListener("keydown", (event) => {
  if (event.target === get("word")) {
    if (event.key === "Escape") get("word").blur();
    return;
  }
  const isUndo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey);
  if ((event.ctrlKey || event.metaKey || event.altKey) && !isUndo) return;
  const key = event.key.toLowerCase();
  const chosen = choices().find(([value], k) => keyOf(k, value) === key);
  const guess = images[state.at].guesses[0];
  const isButton = event.target instanceof HTMLButtonElement;
  if (isUndo || key === "u" || key === "backspace") undo();
  else if (chosen) answer(chosen[0]);
  else if (key === "x") answer(facts.none);
  else if (isFilter && key === "k") answer(facts.keep);
  else if (isFilter && key === "d") answer(facts.none);
  else if (key === "enter" && guess && !isFilter && !isButton) answer(guess[0]);
  else if (key === "arrowleft") go(state.at - 1);
  else if (key === "arrowright") go(state.at + 1);
  else if (key === "s") save();
  else if (key === "n" && !isFilter) get("word").focus();
  else return;
  event.preventDefault();
});
window.addEventListener("beforeunload", (event) => {
  let isKept = false;
  try {
    isKept = localStorage.getItem(facts.key) !== null;
  } catch (error) {
    isKept = false;
  }
  if (unsaved && !isKept) event.preventDefault();
});
draw();
