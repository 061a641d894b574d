// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and buttons of the timeline.

CS.navigate = function (timeline, search) {
  const { model } = timeline;
  const on = (id, action) => CS.byId(id).addEventListener("click", action);
  const all = () => timeline.goTo(0, model.span);
  on("zoom-in", () => timeline.scaleBy(2));
  on("zoom-out", () => timeline.scaleBy(0.5));
  on("step", () => timeline.oneStep());
  on("all", all);

  /// To the next event of the row, or the one before.
  const along = (by) => {
    const { selected } = timeline.state;
    if (!selected) {
      const row = model.tracks[0];
      const { from } = timeline.view();
      const first = row ? CS.firstFrom(row.track, from) : 0;
      if (row && row.track.begin.length) timeline.reveal({ track: row.track, index: Math.min(first, row.track.begin.length - 1) });
      return;
    }
    const index = selected.index + by;
    if (index >= 0 && index < selected.track.begin.length) timeline.reveal({ track: selected.track, index });
  };

  /// To what runs at the same time in the next row with anything, or the one before.
  const across = (by) => {
    const { selected } = timeline.state;
    if (!selected) return along(0);
    const time = selected.track.begin[selected.index];
    let at = model.tracks.findIndex((row) => row.track === selected.track);
    do at += by;
    while (model.tracks[at] && !model.tracks[at].track.begin.length);
    if (!model.tracks[at]) return;
    const { track } = model.tracks[at];
    let best = 0;
    const off = (i) => Math.max(track.begin[i] - time, time - track.end[i], 0);
    for (let i = CS.firstFrom(track, time); i < track.begin.length; ++i) {
      if (off(i) < off(best)) best = i;
      if (track.begin[i] > time) break;
    }
    timeline.reveal({ track, index: best });
  };

  const fold = () => {
    const { selected } = timeline.state;
    const rows = model.rows.filter((row) => row.kind === "process");
    const row = selected ? rows.find((r) => r.timeline === selected.track.timeline && r.process === selected.track.process) : rows[0];
    if (row) timeline.fold(row);
  };

  const keys = {
    ArrowLeft: () => timeline.move(-0.2),
    ArrowRight: () => timeline.move(0.2),
    ArrowUp: () => across(-1),
    ArrowDown: () => across(1),
    "+": () => timeline.scaleBy(1.5),
    "=": () => timeline.scaleBy(1.5),
    "-": () => timeline.scaleBy(1 / 1.5),
    0: all,
    Home: all,
    s: () => timeline.oneStep(),
    "[": () => along(-1),
    "]": () => along(1),
    Enter: fold,
    n: () => search.go(1),
    p: () => search.go(-1),
    Escape: () => timeline.select(null),
  };
  timeline.box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.tagName === "INPUT") return;
    CS.byId("find").focus();
    event.preventDefault();
  });
};
