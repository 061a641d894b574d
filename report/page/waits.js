// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why compute waits, as a table: exposed time of the part that is shown, by what is
// waited for and why.

CS.Waits = class {
  constructor(timeline) {
    this.timeline = timeline;
    this.model = timeline.model;
    this.all = new Set(); // timelines of which every row is shown
    timeline.listeners.push((view) => this.update(view));
  }

  /// Rows of a timeline: {name, detail, time, first}, by time.
  collect(timeline, view) {
    const groups = new Map();
    for (const track of timeline.tracks) {
      if (track.link) continue;
      for (let i = CS.firstFrom(track, view.from); i < track.begin.length && track.begin[i] < view.to; ++i) {
        if (track.category[i] !== CS.kExposed) continue;
        const time = Math.min(track.end[i], view.to) - Math.max(track.begin[i], view.from);
        if (time <= 0) continue;
        const key = track.name[i] * 4294967296 + track.detail[i];
        let group = groups.get(key);
        if (!group) groups.set(key, (group = { name: track.name[i], detail: track.detail[i], time: 0, first: { track, index: i } }));
        group.time += time;
      }
    }
    return [...groups.values()].sort((a, b) => b.time - a.time);
  }

  /// How many steps of how many ranks are shown.
  count(timeline, view) {
    const ranks = new Set(timeline.tracks.filter((t) => !t.link && t.category.includes(CS.kExposed)).map((t) => t.process)).size;
    let steps = 0;
    for (let i = 0; i + 1 < timeline.steps.length; ++i) {
      const length = timeline.steps[i + 1] - timeline.steps[i];
      const shown = Math.min(view.to, timeline.steps[i + 1]) - Math.max(view.from, timeline.steps[i]);
      if (shown > 0 && length > 0) steps += shown / length;
    }
    return (ranks || 1) * (steps || 1);
  }

  update(view) {
    this.view = view;
    const box = d3.select("#waits").html("");
    for (const timeline of this.model.summary.timelines) {
      const rows = this.collect(timeline, view);
      const count = this.count(timeline, view);
      const total = d3.sum(rows, (row) => row.time) / count;
      const steps = timeline.steps.length - 1;
      const period = steps > 0 ? timeline.steps[steps] / steps : 0;
      const table = box.append("table");
      const share = period ? `, ${CS.percent(total / period)} of it` : "";
      table.append("caption").text(rows.length ? `${timeline.name}: ${CS.time(total)} per step${share}` : `${timeline.name}: compute waits for nothing`);
      if (!rows.length) continue;
      const head = table.append("thead").append("tr");
      head.append("th").style("width", "16%").text("waits for");
      head.append("th").text("why");
      head.append("th").attr("class", "number").style("width", "9%").text("per step");
      head.append("th").style("width", "18%").text("share of the waiting");
      const body = table.append("tbody");
      const shown = this.all.has(timeline) ? rows : rows.slice(0, 12);
      for (const row of shown) {
        const go = () => this.timeline.reveal(row.first, true);
        const tr = body.append("tr").attr("tabindex", 0).on("click", go).on("keydown", () => d3.event.key === "Enter" && go());
        tr.append("td").text(this.model.strings[row.name]);
        tr.append("td").text(this.model.strings[row.detail] || "the trace does not say");
        tr.append("td").attr("class", "number").text(CS.time(row.time / count));
        const part = row.time / count / (total || 1);
        const bar = tr.append("td");
        bar.append("span").attr("class", "bar").style("width", `${(70 * part).toFixed(1)}%`);
        bar.append("span").text(` ${CS.percent(part)}`);
      }
      if (shown.length < rows.length)
        box.append("button").attr("type", "button").text(`${rows.length - shown.length} more`).on("click", () => {
          this.all.add(timeline);
          this.update(this.view);
        });
    }
  }
};
