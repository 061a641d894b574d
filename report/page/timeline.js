// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The timeline: what part of it is shown, what is pointed at and selected.

CS.Timeline = class {
  constructor(model) {
    this.model = model;
    this.box = CS.byId("timeline");
    this.canvas = CS.byId("canvas");
    this.draw = new CS.Draw(this.canvas, model);
    this.state = { found: null, selected: null };
    this.listeners = [];
    this.zoom = d3
      .zoom()
      .filter(() => !d3.event.button && (d3.event.type !== "wheel" || d3.event.ctrlKey || d3.event.metaKey))
      .on("zoom", () => this.redraw());
    d3.select(this.canvas)
      .call(this.zoom)
      .on("mousemove.point", () => this.point())
      .on("mouseleave.point", () => this.show(this.state.selected))
      .on("click.select", () => this.click());
    // Without a key the wheel scrolls; sideways it moves the time.
    this.canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) return;
      const by = event.shiftKey ? event.deltaY : event.deltaX;
      if (by) {
        this.move(by / this.plotWidth());
        event.preventDefault();
      }
    }, { passive: false });
    new ResizeObserver(() => this.resize()).observe(this.box);
    this.resize();
  }

  plotWidth() {
    return Math.max(this.width - CS.kGutter, 50);
  }

  resize() {
    const width = this.box.clientWidth;
    if (width === this.width && this.height === this.model.height) return;
    const view = this.width ? this.view() : null;
    this.width = width;
    this.height = this.model.height;
    this.draw.resize(width);
    this.base = d3.scaleLinear().domain([0, this.model.span]).range([CS.kGutter, width]);
    this.zoom
      .scaleExtent([1, Math.max(1, this.model.span / 20)])
      .extent([[CS.kGutter, 0], [width, 1]])
      .translateExtent([[CS.kGutter, 0], [width, 1]]);
    if (view) this.goTo(view.from, view.to);
    // At once: a canvas that was resized is blank, and would be shown so for a frame.
    this.drawNow();
  }

  transform() {
    return d3.zoomTransform(this.canvas);
  }

  /// What is shown, in nanoseconds.
  view() {
    const [from, to] = this.transform().rescaleX(this.base).domain();
    return { from, to };
  }

  goTo(from, to) {
    const span = Math.min(Math.max(to - from, 20), this.model.span);
    from = Math.max(0, Math.min(from, this.model.span - span));
    const k = this.model.span / span;
    // Puts base(from) at the left edge: k * base(from) + x = gutter.
    d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity.translate(CS.kGutter - k * this.base(from), 0).scale(k));
  }

  move(part) {
    const { from, to } = this.view();
    const by = (to - from) * part;
    this.goTo(from + by, to + by);
  }

  scaleBy(factor) {
    const { from, to } = this.view();
    const selected = this.state.selected;
    let middle = (from + to) / 2;
    if (selected) {
      const at = (selected.track.begin[selected.index] + selected.track.end[selected.index]) / 2;
      if (at > from && at < to) middle = at;
    }
    const part = (middle - from) / (to - from);
    const span = (to - from) / factor;
    this.goTo(middle - part * span, middle + (1 - part) * span);
  }

  /// The first whole step that is shown, or the next one.
  oneStep() {
    const { from, to } = this.view();
    const timeline = this.model.summary.timelines.find((t) => t.steps.length > 1);
    if (!timeline) return;
    const { steps } = timeline;
    const alone = steps.findIndex((time, i) => Math.abs(time - from) < 2 && Math.abs((steps[i + 1] ?? Infinity) - to) < 2);
    let i = alone >= 0 ? (alone + 1) % (steps.length - 1) : steps.findIndex((time) => time >= from - 1);
    i = Math.max(0, Math.min(i, steps.length - 2));
    this.goTo(steps[i], steps[i + 1]);
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.drawNow();
    });
  }

  drawNow() {
    const view = this.view();
    this.draw.frame(view, this.state);
    const scale = d3.scaleLinear().domain([view.from, view.to]).range([CS.kGutter, this.width]);
    d3.select("#axis")
      .attr("width", this.width)
      .html("")
      .append("g")
      .attr("transform", "translate(0,27)")
      .call(d3.axisTop(scale).ticks(this.plotWidth() / 110).tickFormat(CS.axisTime(view.to - view.from)));
    this.canvas.dataset.from = view.from;
    this.canvas.dataset.to = view.to;
    CS.byId("range").textContent = `${CS.time(view.from)} to ${CS.time(view.to)} (${CS.time(view.to - view.from)})`;
    clearTimeout(this.settled);
    this.settled = setTimeout(() => this.listeners.forEach((listener) => listener(view)), 120);
  }

  /// The event at a place of the canvas.
  at(x, y) {
    const row = this.model.rows.find((candidate) => y >= candidate.y && y < candidate.y + candidate.height);
    if (!row || row.kind !== "track" || x < CS.kGutter) return { row };
    const { track } = row;
    const view = this.view();
    const perPixel = (view.to - view.from) / this.plotWidth();
    const time = view.from + (x - CS.kGutter) * perPixel;
    const lane = Math.floor((y - row.y - 3) / ((row.height - 6) / track.lanes));
    let best = -1;
    let distance = 3 * perPixel;
    for (let i = CS.firstFrom(track, time - 3 * perPixel); i < track.begin.length && track.begin[i] <= time + 3 * perPixel; ++i) {
      if (!row.folded && track.lane[i] !== lane) continue;
      const off = Math.max(track.begin[i] - time, time - track.end[i], 0);
      if (off < distance || (off === 0 && off <= distance)) {
        best = i;
        distance = off;
      }
    }
    return best < 0 ? { row } : { row, event: { track, index: best } };
  }

  point() {
    const [x, y] = d3.mouse(this.canvas);
    const { row, event } = this.at(x, y);
    this.canvas.style.cursor = event || (row && row.kind === "process") ? "pointer" : "default";
    this.show(event || this.state.selected);
  }

  click() {
    if (d3.event.defaultPrevented) return;
    this.box.focus({ preventScroll: true });
    const [x, y] = d3.mouse(this.canvas);
    const { row, event } = this.at(x, y);
    if (row && row.kind === "process") this.fold(row);
    else this.select(event || null);
  }

  fold(row) {
    this.model.fold(row);
    this.resize();
    this.redraw();
  }

  select(event) {
    this.state.selected = event;
    this.show(event);
    this.redraw();
  }

  /// Selects it and moves there, if it is not shown.
  reveal(event, zoomIn) {
    const { track, index } = event;
    const row = this.model.rowOf(track);
    this.resize();
    const begin = track.begin[index];
    const end = track.end[index];
    const view = this.view();
    const span = view.to - view.from;
    if (zoomIn || end - begin > span) this.goTo(begin - 2 * (end - begin) - 1, end + 2 * (end - begin) + 1);
    else if (begin < view.from || end > view.to) this.goTo((begin + end - span) / 2, (begin + end + span) / 2);
    const top = row.y;
    if (top < this.box.scrollTop || top + row.height > this.box.scrollTop + this.box.clientHeight - 30)
      this.box.scrollTop = Math.max(0, top - 60);
    this.select(event);
  }

  show(event) {
    const detail = CS.byId("detail");
    if (!event) {
      detail.textContent = "Point at something, or click it.";
      return;
    }
    detail.textContent = "";
    for (const [tag, text] of this.model.describe(event.track, event.index)) {
      const node = tag ? document.createElement(tag) : document.createTextNode(text);
      if (tag) node.textContent = text;
      detail.append(node);
    }
  }
};
