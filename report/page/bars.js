// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Periods of schedules beside the bound, and what-ifs, as bars.

/// Puts as much of the note of each row into it as there is room for, and all of it into
/// a title.
CS.fitNotes = function (rows, room) {
  rows.each(function (row) {
    const note = d3.select(this).select(".note");
    let text = row.note;
    note.text(text);
    while (text && this.getComputedTextLength() > room(row)) note.text((text = text.slice(0, -1)) + "\u2026");
    if (text !== row.note) d3.select(this).append("title").text(row.note);
  });
};

/// A chart of rows {name, value, color, note, bound} with an axis of time. Where there is
/// no room for names, values and notes beside the bars, they are above them.
CS.chart = function (selector, rows, bound) {
  const width = Math.max(240, document.querySelector(selector).clientWidth);
  const narrow = width < 760;
  const left = narrow ? 2 : 215;
  const right = narrow ? 24 : 330;
  const height = narrow ? 60 : 24;
  const above = narrow ? 36 : 0; // lines of text above a bar
  const top = bound ? 22 : 6;
  const svg = d3.select(selector).html("").append("svg").attr("class", "chart").attr("role", "img")
    .attr("aria-label", rows.map((row) => `${row.name}: ${CS.time(row.value)}`).join("; "))
    .attr("viewBox", `0 0 ${width} ${top + rows.length * height + 26}`);
  const most = d3.max(rows, (row) => row.value) || 1;
  const x = d3.scaleLinear().domain([0, most]).range([left, width - right]);
  const bars = svg.selectAll("g.row").data(rows).enter().append("g").attr("class", "row")
    .attr("transform", (row, i) => `translate(0,${top + i * height})`);
  bars.append("text").attr("x", narrow ? left : left - 8).attr("y", narrow ? 9 : height / 2).attr("dy", "0.35em")
    .attr("text-anchor", narrow ? "start" : "end")
    .attr("font-weight", (row) => (row.bold ? 600 : 400)).text((row) => row.name);
  bars.append("rect").attr("x", left).attr("y", above + 4).attr("height", height - above - 8).attr("rx", 2)
    .attr("width", (row) => Math.max(1, x(row.value) - left)).attr("fill", (row) => row.color);
  const mark = bars.filter((row) => row.bound > 0);
  mark.append("line").attr("x1", (row) => x(row.bound)).attr("x2", (row) => x(row.bound)).attr("y1", above + 1)
    .attr("y2", height - 1).attr("stroke", "var(--bound)").attr("stroke-width", 2);
  const values = bars.append("text").attr("x", (row) => (narrow ? left : x(row.value) + 7)).attr("y", narrow ? 27 : height / 2).attr("dy", "0.35em");
  values.append("tspan").attr("font-weight", (row) => (row.bold ? 600 : 400)).text((row) => CS.time(row.value));
  values.append("tspan").attr("class", "note").attr("dx", 8);
  CS.fitNotes(values, (row) => width - (narrow ? left : x(row.value) + 7));
  if (bound) {
    // Only over the bars where text is between them.
    const lines = narrow ? rows.map((row, i) => [top + i * height + above, top + (i + 1) * height]) : [[top - 4, top + rows.length * height]];
    svg.selectAll("line.bound").data(lines).enter().append("line").attr("class", "bound").attr("x1", x(bound.value)).attr("x2", x(bound.value))
      .attr("y1", (line) => line[0]).attr("y2", (line) => line[1]).attr("stroke", "var(--bound)").attr("stroke-width", 1.5).attr("stroke-dasharray", "4 3");
    const edge = x(bound.value) > width - 90 ? "end" : x(bound.value) < 60 ? "start" : "middle";
    svg.append("text").attr("x", x(bound.value)).attr("y", 11).attr("text-anchor", edge).text(`bound ${CS.time(bound.value)}`);
  }
  svg.append("g").attr("transform", `translate(0,${top + rows.length * height})`)
    .call(d3.axisBottom(x).ticks(narrow ? 4 : 6).tickFormat(CS.axisTime(most)));
};

CS.periods = function (summary) {
  const bound = summary.periods.find((period) => period.kind === "bound");
  const rank = { measured: 0, ours: 1, baseline: 2 };
  const rows = summary.periods.filter((period) => period.kind !== "bound" && period.ns !== null)
    .sort((a, b) => rank[a.kind] - rank[b.kind] || a.ns - b.ns)
    .map((period) => ({
      name: period.name,
      value: period.ns,
      bold: period.kind !== "baseline",
      color: `var(--${period.kind})`,
      note: [bound ? `${(period.ns / bound.ns).toFixed(3)} \u00d7 bound` : "", period.note].filter(Boolean).join(", "),
    }));
  if (rows.length) CS.chart("#periods", rows, bound && bound.ns ? { value: bound.ns } : null);
};

CS.whatIf = function (summary) {
  const rows = [];
  const now = summary.periods.find((period) => period.kind === "ours");
  for (const whatIf of summary.what_ifs) {
    const add = (value, name, color, bold) => {
      if (!value) return;
      const change = now ? `${value < now.ns ? "" : "+"}${((100 * (value - now.ns)) / now.ns).toFixed(1)} %` : "";
      rows.push({ name, value, color, bold, bound: whatIf.bound_ns, note: change });
    };
    add(whatIf.same_ns, whatIf.name, "var(--baseline)", true);
    add(whatIf.solved_ns, whatIf.same_ns ? "a schedule for that" : whatIf.name, "var(--ours)", !whatIf.same_ns);
  }
  CS.byId("what-if-section").hidden = !rows.length;
  if (!rows.length) return;
  CS.chart("#what-if", rows, null);
  d3.select("#what-if").append("p").attr("class", "hint")
    .text("Grey: the schedule as it is. Green: one that is made for the change. The black line is the bound. Percentages are against this schedule now.");
};
