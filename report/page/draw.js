// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws rows of events on a canvas. What is narrower than a pixel is drawn once per
// pixel, so that a frame takes as long as the screen is wide, not as there are events.

CS.kGutter = 168; // for the names of the rows

CS.Draw = class {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.model = model;
    this.hues = new Map();
    this.readColors();
  }

  readColors() {
    this.colors = {};
    for (const name of ["back", "panel", "text", "muted", "line", "grid", "compute", "update", "copy", "exposed",
      "exposed-back", "accent", "on-mark", "dim"])
      this.colors[name] = CS.color(name);
    this.dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    this.hues.clear();
    // Exposed time is hatched, to be told from messages without colour.
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.fillStyle = this.colors["exposed-back"];
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = this.colors.exposed;
    pen.lineWidth = 1.6;
    for (const x of [-8, 0, 8]) {
      pen.beginPath();
      pen.moveTo(x - 1, 9);
      pen.lineTo(x + 9, -1);
      pen.stroke();
    }
    this.hatch = this.context.createPattern(tile, "repeat");
  }

  /// A message keeps its colour on all links.
  colorOf(category, name) {
    if (category === CS.kCompute) return this.colors.compute;
    if (category === CS.kUpdate) return this.colors.update;
    if (category === CS.kCopy) return this.colors.copy;
    if (category === CS.kExposed) return this.hatch;
    let color = this.hues.get(name);
    if (!color) {
      let hash = 2166136261;
      // Both halves of an all-reduce, and all pieces of a tensor, are related.
      for (const c of this.model.strings[name].replace(/ \(.*/, "")) hash = Math.imul(hash ^ c.codePointAt(0), 16777619);
      const hue = 20 + ((hash >>> 0) % 12) * 14 + (((hash >>> 0) % 12) > 9 ? 150 : 0);
      color = `hsl(${hue} ${this.dark ? "45% 38%" : "52% 48%"})`;
      this.hues.set(name, color);
    }
    return color;
  }

  /// Sizes the canvas to the rows and the page.
  resize(width) {
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${this.model.height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(Math.min(this.model.height, 16000) * ratio);
    this.ratio = ratio;
  }

  /// `view`: {from, to} in ns; `state`: {found (set of names or null), selected}.
  frame(view, state) {
    const c = this.context;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = this.colors.back;
    c.fillRect(0, 0, this.width, this.model.height);
    this.scale = (this.width - CS.kGutter) / (view.to - view.from);
    this.view = view;
    for (const row of this.model.rows) {
      if (row.kind === "track") this.track(row, state);
      else if (row.kind !== "ruler") this.heading(row);
    }
    this.steps();
  }

  x(time) {
    return CS.kGutter + (time - this.view.from) * this.scale;
  }

  heading(row) {
    const c = this.context;
    c.fillStyle = this.colors.panel;
    c.fillRect(0, row.y, this.width, row.height - 1);
    c.fillStyle = this.colors.text;
    c.textBaseline = "middle";
    if (row.kind === "heading") {
      c.font = '600 14px system-ui, "DejaVu Sans", sans-serif';
      c.fillText(row.timeline.name, 8, row.y + row.height / 2);
      const left = 20 + c.measureText(row.timeline.name).width;
      c.font = '12px system-ui, "DejaVu Sans", sans-serif';
      c.fillStyle = this.colors.muted;
      c.fillText(this.fit(row.timeline.source, this.width - left - 8), left, row.y + row.height / 2);
    } else {
      c.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
      c.fillText(`${row.folded ? "\u25b8" : "\u25be"} ${row.process}`, 8, row.y + row.height / 2);
    }
  }

  track(row, state) {
    const c = this.context;
    const { track } = row;
    const top = row.y + 3;
    const laneHeight = (row.height - 6) / track.lanes;
    const begin = this.view.from;
    const end = this.view.to;
    const right = this.width;
    c.save();
    c.beginPath();
    c.rect(CS.kGutter, row.y, right - CS.kGutter, row.height);
    c.clip();
    c.font = '11px system-ui, "DejaVu Sans", sans-serif';
    c.textBaseline = "middle";
    const drawn = new Float64Array(track.lanes).fill(-1);
    const last = track.begin.length;
    const marked = [];
    const waits = []; // [from, to, name]: stretches of one wait have one label
    for (let i = CS.firstFrom(track, begin); i < last && track.begin[i] < end; ++i) {
      if (track.end[i] < begin) continue;
      const lane = row.folded ? 0 : track.lane[i];
      const found = !state.found || state.found.has(track.name[i]);
      const x0 = Math.max(this.x(track.begin[i]), CS.kGutter - 2);
      let x1 = Math.min(this.x(track.end[i]), right + 2);
      if (x1 <= drawn[lane] && !(state.found && found)) continue;
      const width = Math.max(x1 - x0, 1);
      x1 = x0 + width;
      drawn[lane] = Math.max(drawn[lane], Math.ceil(x1) - 0.5);
      const y = top + lane * laneHeight;
      const height = laneHeight - (track.lanes > 1 ? 1 : 0);
      const category = track.category[i];
      c.globalAlpha = found ? 1 : Number(this.colors.dim);
      c.fillStyle = this.colorOf(category, track.name[i]);
      c.fillRect(x0, y, width > 3 ? width - 0.6 : width, height);
      if (category === CS.kExposed && width > 2) {
        c.strokeStyle = this.colors.exposed;
        c.strokeRect(x0 + 0.5, y + 0.5, width - 1, height - 1);
      }
      if (category === CS.kExposed) {
        const wait = waits[waits.length - 1];
        if (wait && wait[2] === track.name[i] && x0 - wait[1] < 1) wait[1] = x1;
        else waits.push([x0, x1, track.name[i], y, height]);
      } else if (width > 26 && height > 9) {
        this.label(this.model.strings[track.name[i]], x0, y, width, height, category);
      }
      if ((state.found && found) || (state.selected && state.selected.track === track && state.selected.index === i))
        marked.push([x0, y, width, height, state.selected && state.selected.index === i && state.selected.track === track]);
    }
    for (const [from, to, name, y, height] of waits) {
      c.globalAlpha = !state.found || state.found.has(name) ? 1 : Number(this.colors.dim);
      if (to - from > 40 && height >= 16) this.label(`waits for ${this.model.strings[name]}`, from, y, to - from, height, CS.kExposed);
    }
    c.globalAlpha = 1;
    for (const [x, y, width, height, selected] of marked) {
      c.strokeStyle = selected ? this.colors.text : this.colors.accent;
      c.lineWidth = selected ? 2 : 1.5;
      c.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1);
    }
    c.lineWidth = 1;
    c.restore();
    c.fillStyle = this.colors.text;
    c.textBaseline = "middle";
    c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    if (row.height >= 14) c.fillText(this.fit(track.title, CS.kGutter - 26), 18, row.y + row.height / 2);
    c.strokeStyle = this.colors.grid;
    c.beginPath();
    c.moveTo(0, row.y + row.height - 0.5);
    c.lineTo(right, row.y + row.height - 0.5);
    c.stroke();
  }

  label(whole, x, y, width, height, category) {
    const c = this.context;
    const left = Math.max(x, CS.kGutter);
    const text = this.fit(whole, Math.min(x + width, this.width) - left - 8);
    if (!text) return;
    if (category === CS.kExposed) {
      c.fillStyle = this.colors.back;
      c.fillRect(left + 2, y + 3, c.measureText(text).width + 4, height - 6);
      c.fillStyle = this.colors.text;
    } else {
      c.fillStyle = category === CS.kUpdate ? this.colors.text : this.colors["on-mark"];
    }
    c.fillText(text, left + 4, y + height / 2 + 0.5);
  }

  /// The text, or as much of it as there is room for.
  fit(text, room) {
    const c = this.context;
    if (c.measureText(text).width <= room) return text;
    let length = Math.floor((text.length * room) / c.measureText(text).width);
    while (length > 1 && c.measureText(`${text.slice(0, length)}\u2026`).width > room) --length;
    return length > 1 ? `${text.slice(0, length)}\u2026` : "";
  }

  /// Lines where steps begin, by timeline.
  steps() {
    const c = this.context;
    const { rows } = this.model;
    const headings = rows.filter((row) => row.kind === "heading");
    headings.forEach((heading, h) => {
      const bottom = h + 1 < headings.length ? headings[h + 1].y : this.model.height;
      const { timeline } = heading;
      let last = -Infinity;
      timeline.steps.forEach((time, i) => {
        const x = Math.round(this.x(time)) + 0.5;
        if (x < CS.kGutter || x > this.width || x < last + 6) return;
        last = x;
        c.strokeStyle = this.colors.text;
        c.setLineDash([3, 3]);
        c.beginPath();
        c.moveTo(x, heading.y + heading.height);
        c.lineTo(x, bottom);
        c.stroke();
        c.setLineDash([]);
        const next = timeline.steps[i + 1];
        if (next === undefined || (next - time) * this.scale < 46) return;
        c.font = '11px system-ui, "DejaVu Sans", sans-serif';
        const text = `step ${timeline.first_step + i}`;
        const width = c.measureText(text).width + 6;
        c.fillStyle = this.colors.panel;
        c.fillRect(x, heading.y + heading.height, width, 15);
        c.fillStyle = this.colors.text;
        c.textBaseline = "middle";
        c.fillText(text, x + 3, heading.y + heading.height + 8);
      });
    });
  }
};
