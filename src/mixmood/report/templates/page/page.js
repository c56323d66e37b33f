"use strict";

/* Sorting: the buttons in a table's head order the rows of its body. */
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  for (const button of table.querySelectorAll("button[data-sort]")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const before = head.getAttribute("aria-sort");
      const up = before ? before === "descending" : button.dataset.first !== "descending";
      for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.dataset[button.dataset.sort];
      const compare =
        button.dataset.sort === "name"
          ? (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true })
          : (a, b) => Number(value(a)) - Number(value(b));
      /* Rows without a value come last in both directions. */
      const isMissing = (row) => Number(value(row) === undefined);
      const rows = [...body.rows].sort((a, b) => isMissing(a) - isMissing(b) || (up ? compare(a, b) : compare(b, a)));
      body.append(...rows);
    });
  }
}

/* A picture with points: the point nearest to the pointer, or the point with the focus, is described.
   `fill(point)` puts the description into `hover`. Returns a function that puts one visible point into
   the tab order; call it after points were hidden or shown. */
const explore = (frame, hover, fill) => {
  const reach = 28;
  let shown = null;

  const points = () => [...frame.querySelectorAll(".point")].filter((point) => !point.closest("[hidden]"));
  const centre = (point) => {
    const box = point.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const hide = () => {
    if (shown) shown.classList.remove("active");
    shown = null;
    hover.hidden = true;
  };
  const show = (point) => {
    if (point === shown) return;
    hide();
    shown = point;
    point.classList.add("active");
    fill(point);
    frame.append(hover);
    hover.hidden = false;
    const box = frame.getBoundingClientRect();
    const [x, y] = centre(point);
    const left = Math.min(Math.max(x - box.left - hover.offsetWidth / 2, 4), box.width - hover.offsetWidth - 4);
    const above = y - hover.offsetHeight - 16;
    hover.style.left = `${left}px`;
    hover.style.top = `${(above > 0 ? above : y + 16) - box.top}px`;
  };
  /* The point of least cost, by a function of the way (dx, dy) to it; null if all costs are infinite. */
  const nearest = (x, y, costOf, except) => {
    let best = null;
    let least = Infinity;
    for (const point of points()) {
      if (point === except) continue;
      const [px, py] = centre(point);
      const cost = costOf(px - x, py - y);
      if (cost < least) [best, least] = [point, cost];
    }
    return best;
  };

  const follow = (event) => {
    const near = nearest(event.clientX, event.clientY, (dx, dy) => {
      const distance = Math.hypot(dx, dy);
      return distance <= reach ? distance : Infinity;
    });
    if (near) show(near);
    else hide();
  };
  frame.addEventListener("pointermove", follow);
  frame.addEventListener("pointerdown", follow);
  frame.addEventListener("pointerleave", hide);

  const along = {
    ArrowRight: (dx, dy) => (dx > 0 ? dx + 2 * Math.abs(dy) : Infinity),
    ArrowLeft: (dx, dy) => (dx < 0 ? -dx + 2 * Math.abs(dy) : Infinity),
    ArrowDown: (dx, dy) => (dy > 0 ? dy + 2 * Math.abs(dx) : Infinity),
    ArrowUp: (dx, dy) => (dy < 0 ? -dy + 2 * Math.abs(dx) : Infinity),
  };
  /* Only one point is in the tab order; an arrow key puts the next point there instead. */
  const putInTabOrder = (point) => {
    for (const other of frame.querySelectorAll('.point[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    if (point) point.setAttribute("tabindex", "0");
  };
  const resetTabOrder = () => putInTabOrder(points().at(-1));
  resetTabOrder();
  frame.addEventListener("focusin", (event) => {
    const point = event.target.closest(".point");
    if (point) show(point);
  });
  frame.addEventListener("focusout", hide);
  frame.addEventListener("keydown", (event) => {
    const point = event.target.closest(".point");
    if (event.key === "Escape") hide();
    if (!point || !(event.key in along)) return;
    event.preventDefault();
    const next = nearest(...centre(point), along[event.key], point);
    if (!next) return;
    putInTabOrder(next);
    next.focus();
  });
  return resetTabOrder;
};

/* The map of images. */
const map = document.getElementById("map");
if (map) {
  const pictures = JSON.parse(document.getElementById("pictures").textContent);
  const hover = document.getElementById("hover");
  const [image] = hover.getElementsByTagName("img");
  const [title] = hover.getElementsByTagName("b");
  const [place] = hover.getElementsByTagName("span");
  const resetTabOrder = explore(map, hover, (point) => {
    const uri = pictures[point.parentNode.dataset.cloud][point.dataset.picture];
    image.hidden = !uri;
    if (uri) image.src = uri;
    title.textContent = point.dataset.set;
    place.textContent = point.dataset.place;
  });
  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      map.querySelector(`.cloud[data-cloud="${button.dataset.cloud}"]`).toggleAttribute("hidden", !on);
      resetTabOrder();
    });
  }
}

/* The plots of a test bed share one tooltip. */
const tip = document.getElementById("tip");
for (const canvas of document.querySelectorAll(".canvas")) {
  const [title] = tip.getElementsByTagName("b");
  const [text] = tip.getElementsByTagName("span");
  explore(canvas, tip, (point) => {
    title.textContent = point.dataset.title;
    text.textContent = point.dataset.text;
  });
}

/* Filters: elements with another value than the chosen one get the class `off`; elements without such a value stay.
   The class hides on screens only: in print everything is shown. */
const filters = document.getElementById("filters");
if (filters) {
  const keyOf = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  const names = [...new Set([...filters.elements].map((input) => input.name).filter(Boolean))];
  const parts = document.querySelectorAll(names.map((name) => `main [data-${name}]`).join(","));
  const cells = [...document.querySelectorAll("td.cell")];
  const scatters = document.getElementById("scatters");
  const isSingle = scatters !== null && scatters.classList.contains("single");
  const filter = () => {
    const chosen = Object.fromEntries(new FormData(filters));
    const isOff = (part) =>
      names.some((name) => {
        const value = part.dataset[keyOf(name)];
        return chosen[name] !== "" && value !== undefined && value !== chosen[name];
      });
    for (const part of parts) part.classList.toggle("off", isOff(part));
    if (scatters) scatters.classList.toggle("single", isSingle || (chosen.measure ?? "") !== "");
    const n = cells.filter((cell) => !cell.closest(".off")).length;
    document.getElementById("shown").textContent = `${n} of ${cells.length} cells shown`;
  };
  filters.addEventListener("change", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  /* A browser may restore the choices of an earlier visit. */
  addEventListener("pageshow", filter);
  filter();
}

/* The record: copied or shown unchanged. */
const record = document.getElementById("record").textContent;
const copied = document.getElementById("copied");
const sheet = document.getElementById("json");
const [lines] = sheet.getElementsByTagName("pre");
const fill = () => {
  /* Once only: new text would lose a selection. */
  if (!lines.firstChild) lines.textContent = record;
};
sheet.addEventListener("toggle", fill);
document.getElementById("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(record);
    copied.textContent = "Copied.";
  } catch {
    sheet.open = true;
    fill();
    getSelection().selectAllChildren(lines);
    copied.textContent = "Selected below: press Ctrl+C.";
  }
});
