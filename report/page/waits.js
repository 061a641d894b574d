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

  /// What is shown of the steps of a timeline: what comes before and after them has no
  /// share of a step.
  stepsOf(timeline, view) {
    const steps = timeline.steps;
    if (steps.length < 2) return view;
    return { from: Math.max(view.from, steps[0]), to: Math.min(view.to, steps[steps.length - 1]) };
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

  /// How many streams of compute ever wait: of one rank, those of all its devices.
  streams(timeline) {
    return timeline.tracks.filter((t) => !t.link && t.category.includes(CS.kExposed)).length || 1;
  }

  /// How many steps are shown, also in part.
  count(timeline, view) {
    let steps = 0;
    for (let i = 0; i + 1 < timeline.steps.length; ++i) {
      const length = timeline.steps[i + 1] - timeline.steps[i];
      const shown = Math.min(view.to, timeline.steps[i + 1]) - Math.max(view.from, timeline.steps[i]);
      if (shown > 0 && length > 0) steps += shown / length;
    }
    return steps || 1;
  }

  update(view) {
    this.view = view;
    const box = d3.select("#waits").html("");
    for (const timeline of this.model.summary.timelines) {
      const part = this.stepsOf(timeline, view);
      const rows = part.to > part.from ? this.collect(timeline, part) : [];
      const streams = this.streams(timeline);
      const count = streams * this.count(timeline, part);
      const sum = d3.sum(rows, (row) => row.time);
      const total = sum / count;
      const table = box.append("table");
      // Of the very time that the sum is over: steps differ, and it is never more.
      const share = timeline.steps.length > 1 ? `, ${CS.percent(sum / (streams * (part.to - part.from)))} of the time` : "";
      table.append("caption").text(rows.length ? `${timeline.name}: ${CS.time(total)} per step${share}` : `${timeline.name}: compute waits for nothing`);
      if (!rows.length) continue;
      const head = table.append("thead").append("tr");
      head.append("th").attr("class", "name").text("waits for");
      head.append("th").text("why");
      head.append("th").attr("class", "number").text("per step");
      head.append("th").attr("class", "share").text("share of the waiting");
      const body = table.append("tbody");
      const shown = this.all.has(timeline) ? rows : rows.slice(0, 12);
      for (const row of shown) {
        const go = () => this.timeline.reveal(row.first, true);
        const tr = body.append("tr").attr("tabindex", 0).on("click", go).on("keydown", () => d3.event.key === "Enter" && go());
        tr.append("td").text(this.model.strings[row.name]);
        tr.append("td").text(this.model.strings[row.detail] || "the trace does not say");
        tr.append("td").attr("class", "number").text(CS.time(row.time / count));
        const portion = row.time / (sum || 1);
        const bar = tr.append("td");
        bar.append("span").attr("class", "bar").style("width", `${(70 * portion).toFixed(1)}%`);
        bar.append("span").text(` ${CS.percent(portion)}`);
      }
      if (shown.length < rows.length)
        box.append("button").attr("type", "button").text(`${rows.length - shown.length} more`).on("click", () => {
          this.all.add(timeline);
          this.update(this.view);
        });
    }
  }
};
