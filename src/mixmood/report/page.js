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
      const rows = [...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a)));
      body.append(...rows);
    });
  }
}

/* The map: the point nearest to the pointer, or the one with the focus, shows its picture. */
const map = document.getElementById("map");
if (map) {
  const pictures = JSON.parse(document.getElementById("pictures").textContent);
  const hover = document.getElementById("hover");
  const [image] = hover.getElementsByTagName("img");
  const [title] = hover.getElementsByTagName("b");
  const [place] = hover.getElementsByTagName("span");
  const reach = 28;
  let shown = null;

  const points = () => [...map.querySelectorAll(".cloud:not([hidden]) .point")];
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
    const uri = pictures[point.parentNode.dataset.cloud][point.dataset.picture];
    image.hidden = !uri;
    if (uri) image.src = uri;
    title.textContent = point.dataset.set;
    place.textContent = point.dataset.place;
    hover.hidden = false;
    const frame = map.getBoundingClientRect();
    const [x, y] = centre(point);
    const left = Math.min(Math.max(x - frame.left - hover.offsetWidth / 2, 4), frame.width - hover.offsetWidth - 4);
    const above = y - hover.offsetHeight - 16;
    hover.style.left = `${left}px`;
    hover.style.top = `${(above > 0 ? above : y + 16) - frame.top}px`;
  };
  /* The nearest point among some, by a cost of going (dx, dy); none if all costs are infinite. */
  const nearest = (x, y, cost, except) => {
    let best = null;
    let least = Infinity;
    for (const point of points()) {
      if (point === except) continue;
      const [px, py] = centre(point);
      const price = cost(px - x, py - y);
      if (price < least) [best, least] = [point, price];
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
  map.addEventListener("pointermove", follow);
  map.addEventListener("pointerdown", follow);
  map.addEventListener("pointerleave", hide);

  const along = {
    ArrowRight: (dx, dy) => (dx > 0 ? dx + 2 * Math.abs(dy) : Infinity),
    ArrowLeft: (dx, dy) => (dx < 0 ? -dx + 2 * Math.abs(dy) : Infinity),
    ArrowDown: (dx, dy) => (dy > 0 ? dy + 2 * Math.abs(dx) : Infinity),
    ArrowUp: (dx, dy) => (dy < 0 ? -dy + 2 * Math.abs(dx) : Infinity),
  };
  /* One point at a time can be reached with Tab; the arrows hand that on. */
  const open = (point) => {
    for (const other of map.querySelectorAll('.point[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    if (point) point.setAttribute("tabindex", "0");
  };
  const first = () => points().at(-1);
  open(first());
  map.addEventListener("focusin", (event) => {
    const point = event.target.closest(".point");
    if (point) show(point);
  });
  map.addEventListener("focusout", hide);
  map.addEventListener("keydown", (event) => {
    const point = event.target.closest(".point");
    if (event.key === "Escape") hide();
    if (!point || !(event.key in along)) return;
    event.preventDefault();
    const next = nearest(...centre(point), along[event.key], point);
    if (!next) return;
    open(next);
    next.focus();
  });

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      map.querySelector(`.cloud[data-cloud="${button.dataset.cloud}"]`).toggleAttribute("hidden", !on);
      open(first());
    });
  }
}

/* The record: copied or shown as it stands in the page. */
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
