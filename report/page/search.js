// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds events by name. Names are few, so they are looked through, not the events.

CS.Search = class {
  constructor(timeline) {
    this.timeline = timeline;
    this.model = timeline.model;
    this.field = CS.byId("find");
    this.at = -1;
    this.field.addEventListener("input", () => this.find(this.field.value));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") {
        this.field.value = "";
        this.find("");
        timeline.box.focus();
      }
    });
    CS.byId("next").addEventListener("click", () => this.go(1));
    CS.byId("previous").addEventListener("click", () => this.go(-1));
    const used = new Set();
    for (const { tracks } of this.model.summary.timelines)
      for (const track of tracks) for (let i = 0; i < track.name.length; ++i) used.add(track.name[i]);
    this.names = [...used];
    const list = CS.byId("names");
    for (const name of this.names.slice(0, 400)) list.append(new Option(this.model.strings[name]));
  }

  find(text) {
    const wanted = text.trim().toLowerCase();
    const output = CS.byId("matches");
    this.at = -1;
    this.hits = [];
    this.timeline.state.found = null;
    if (wanted) {
      const names = new Set(this.names.filter((name) => this.model.strings[name].toLowerCase().includes(wanted)));
      this.timeline.state.found = names;
      for (const { tracks } of this.model.summary.timelines)
        tracks.forEach((track) => {
          for (let i = 0; i < track.name.length; ++i) if (names.has(track.name[i])) this.hits.push({ track, index: i });
        });
      this.hits.sort((a, b) => a.track.begin[a.index] - b.track.begin[b.index]);
      const events = this.hits.length;
      output.textContent = events ? `${events} event${events === 1 ? "" : "s"}, ${names.size} name${names.size === 1 ? "" : "s"}` : "nothing has this name";
    } else {
      output.textContent = "";
    }
    this.timeline.redraw();
  }

  go(by) {
    if (!this.hits || !this.hits.length) return;
    if (this.at < 0) {
      // From what is shown on.
      const { from } = this.timeline.view();
      const first = this.hits.findIndex(({ track, index }) => track.begin[index] >= from);
      this.at = (first < 0 ? 0 : first) + (by < 0 ? 0 : -1);
    }
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    CS.byId("matches").textContent = `${this.at + 1} of ${this.hits.length} events`;
    this.timeline.reveal(this.hits[this.at]);
  }
};
