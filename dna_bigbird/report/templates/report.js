"use strict";
// Tables that are sorted by a click on a header, and values of pictures at the pointer. Pages can be read without it.
(function () {
  const MISSING = /^(–|-|not .*|)$/;
  const NUMBER = /^[-+]?\d[\d,]*(\.\d+)?(?=$|[\s%/])/;
  const REACH_PX = 24;

  // The value that a cell is sorted by: its number, the number it begins with, text, or null where there is none.
  function valueOf(row, column) {
    const cell = row.cells[column];
    const text = cell ? cell.textContent.trim() : "";
    if (MISSING.test(text)) return null;
    const exact = cell.querySelector("data");
    if (exact && text.startsWith(exact.textContent)) return Number(exact.value);
    const number = NUMBER.exec(text);
    return number ? Number(number[0].replace(/,/g, "")) : text;
  }

  function compared(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", {numeric: true});
  }

  // Rows stay below the heading of their group; rows without a value come last.
  function sortRows(rows, column, direction) {
    const groups = [[]];
    for (const row of rows) {
      if (row.classList.contains("group")) groups.push([row]);
      else groups[groups.length - 1].push(row);
    }
    return groups.flatMap((group) => {
      const heading = group.filter((row) => row.classList.contains("group"));
      const keyed = group.slice(heading.length).map((row) => [valueOf(row, column), row]);
      keyed.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return direction * compared(a, b);
      });
      return heading.concat(keyed.map(([, row]) => row));
    });
  }

  function makeSortable(table) {
    const body = table.tBodies[0];
    const original = Array.from(body.rows);
    const headers = Array.from(table.tHead.rows[0].cells);
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => {
        // Rising, falling, as it was.
        const next = {ascending: "descending", descending: ""}[header.getAttribute("aria-sort")] ?? "ascending";
        for (const other of headers) other.removeAttribute("aria-sort");
        if (next) header.setAttribute("aria-sort", next);
        const direction = next === "descending" ? -1 : 1;
        body.append(...(next ? sortRows(original, column, direction) : original));
      });
    });
  }

  // Lines: `=name<tab>pattern`, then for each point parts per 1000 from left and top, and its values.
  function readMarks(text) {
    const marks = [];
    let name = "", pattern = "";
    for (const line of text.split("\n")) {
      const fields = line.split("\t");
      if (line.startsWith("=")) {
        [name, pattern] = [fields[0].slice(1), fields[1]];
        continue;
      }
      const [x, y, ...values] = fields;
      const filled = pattern.split("{}").reduce((text, part, i) => text + values[i - 1] + part);
      marks.push({x: x / 1000, y: y / 1000, text: name ? name + ": " + filled : filled});
    }
    return marks;
  }

  function hiddenSpan(className) {
    const span = document.createElement("span");
    span.className = className;
    span.hidden = true;
    return span;
  }

  function showValues(plot) {
    const marks = readMarks(plot.dataset.marks);
    const box = plot.parentElement;
    const dot = hiddenSpan("dot"), tip = hiddenSpan("tip");
    tip.setAttribute("role", "status");
    plot.append(dot, tip);
    let current = -1;

    function show(index) {
      current = index;
      dot.hidden = tip.hidden = index < 0;
      if (index < 0) return;
      const {x, y, text} = marks[index];
      tip.textContent = text;
      for (const item of [dot, tip]) {
        item.style.left = 100 * x + "%";
        item.style.top = 100 * y + "%";
      }
      tip.classList.toggle("left", x > 0.5);
      tip.classList.toggle("above", y > 0.5);
    }

    function nearest(event) {
      const frame = plot.getBoundingClientRect();
      let best = -1, least = REACH_PX;
      marks.forEach(({x, y}, index) => {
        const across = frame.left + x * frame.width - event.clientX;
        const down = frame.top + y * frame.height - event.clientY;
        const distance = Math.hypot(across, down);
        if (distance < least) [best, least] = [index, distance];
      });
      return best;
    }

    plot.addEventListener("pointermove", (event) => show(nearest(event)));
    plot.addEventListener("pointerdown", (event) => show(nearest(event)));
    plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(-1));
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Picture with values: the keys left and right step through them");
    box.addEventListener("blur", () => show(-1));
    box.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1, Escape: 0}[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const from = current < 0 && step < 0 ? 0 : current;
      show(step ? (from + step + marks.length) % marks.length : -1);
      if (step) dot.scrollIntoView({block: "nearest", inline: "nearest"});
    });
  }

  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
  for (const plot of document.querySelectorAll(".plot[data-marks]")) showValues(plot);
})();
