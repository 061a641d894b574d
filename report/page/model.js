// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is shown: rows of the timeline, from top to bottom, and where they lie.

CS.kCompute = 0;
CS.kUpdate = 1;
CS.kMessage = 2;
CS.kExposed = 3;
CS.kCopy = 4;

/// Index of the first event that may reach past `time`: no earlier one does.
CS.firstFrom = function (track, time) {
  const wanted = time - track.longest;
  let low = 0;
  let high = track.begin.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.begin[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
};

CS.Model = class {
  constructor(summary, strings) {
    this.summary = summary;
    this.strings = strings;
    this.folded = new Set(); // keys of processes
    this.span = 0;
    for (const timeline of summary.timelines) {
      timeline.span = timeline.steps.length ? timeline.steps[timeline.steps.length - 1] : 0;
      timeline.processes = [...new Set(timeline.tracks.map((track) => track.process))];
      for (const track of timeline.tracks) {
        track.longest = 0;
        track.hasWork = false;
        for (let i = 0; i < track.begin.length; ++i) {
          track.longest = Math.max(track.longest, track.end[i] - track.begin[i]);
          timeline.span = Math.max(timeline.span, Math.min(track.end[i], timeline.span * 1.02));
        }
        track.timeline = timeline;
      }
      if (!timeline.steps.length)
        for (const track of timeline.tracks)
          for (let i = 0; i < track.end.length; ++i) timeline.span = Math.max(timeline.span, track.end[i]);
      this.span = Math.max(this.span, timeline.span);
      // Ranks are alike: of several, the first is open.
      timeline.processes.slice(1).forEach((process) => this.folded.add(`${timeline.name}/${process}`));
    }
    this.span = this.span || 1;
    this.layout();
  }

  key(timeline, process) {
    return `${timeline.name}/${process}`;
  }

  /// Rows: {kind: "heading" | "ruler" | "process" | "track", y, height, ...}. Of a folded process
  /// compute is left.
  layout() {
    this.rows = [];
    let y = 0;
    const add = (row, height) => {
      this.rows.push(Object.assign(row, { y, height }));
      y += height;
    };
    for (const timeline of this.summary.timelines) {
      add({ kind: "heading", timeline }, 26);
      add({ kind: "ruler", timeline }, 17);
      for (const process of timeline.processes) {
        const folded = this.folded.has(this.key(timeline, process));
        const tracks = timeline.tracks.filter((track) => track.process === process);
        if (timeline.processes.length > 1) add({ kind: "process", timeline, process, folded }, 22);
        for (const track of tracks) {
          if (folded && track.link) continue;
          const height = track.lanes > 1 ? 8 + Math.max(10, Math.min(16, 60 / track.lanes)) * track.lanes : 30;
          add({ kind: "track", timeline, process, track, folded }, folded ? 18 : height);
        }
      }
    }
    this.height = y + 6;
    this.tracks = this.rows.filter((row) => row.kind === "track");
  }

  fold(row) {
    const key = this.key(row.timeline, row.process);
    if (!this.folded.delete(key)) this.folded.add(key);
    this.layout();
  }

  /// Shows a track that is folded away. Returns its row.
  rowOf(track) {
    let row = this.tracks.find((candidate) => candidate.track === track);
    if (!row) {
      this.fold({ timeline: track.timeline, process: track.process });
      row = this.tracks.find((candidate) => candidate.track === track);
    }
    return row;
  }

  /// A sentence about an event.
  describe(track, i) {
    const name = this.strings[track.name[i]];
    const category = track.category[i];
    const parts = [];
    const took = CS.time(track.end[i] - track.begin[i]);
    const where = `${track.process}, ${track.title}`;
    if (category === CS.kExposed) parts.push(["b", `compute waits ${took} for ${name}`]);
    else parts.push(["b", name], ["", ` takes ${took}`]);
    parts.push(["", ` (${track.timeline.name}, ${where}, step ${track.step[i]}, from ${CS.time(track.begin[i])})`]);
    if (track.bytes[i]) parts.push(["", `; ${CS.bytes(track.bytes[i])}`]);
    if (track.queued[i]) parts.push(["", `; waited ${CS.time(track.queued[i])} for the link before`]);
    const detail = this.strings[track.detail[i]];
    if (detail) parts.push(["", `. ${detail[0].toUpperCase()}${detail.slice(1)}.`]);
    return parts;
  }
};
