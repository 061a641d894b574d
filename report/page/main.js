// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the page together.

CS.legend = function () {
  const entries = [["var(--compute)", "compute"], ["var(--update)", "update"], ["hsl(104 52% 48%)", "message, a colour for each"],
    ["repeating-linear-gradient(135deg, var(--exposed) 0 2px, var(--exposed-back) 2px 6px)", "exposed: compute waits for communication"],
    ["var(--copy)", "copy"]];
  for (const [background, text] of entries) {
    const span = document.createElement("span");
    const mark = document.createElement("i");
    mark.style.background = background;
    span.append(mark, text);
    CS.byId("legend").append(span);
  }
};

CS.headline = function (summary) {
  const find = (kind) => summary.periods.find((period) => period.kind === kind);
  const parts = [];
  const measured = find("measured");
  const ours = find("ours");
  const bound = find("bound");
  if (measured) parts.push(["measured ", CS.time(measured.ns), " per step"]);
  if (ours) parts.push(["predicted ", CS.time(ours.ns), measured ? ` (${((100 * Math.abs(ours.ns - measured.ns)) / measured.ns).toFixed(1)} % ${ours.ns < measured.ns ? "less" : "more"})` : " per step"]);
  const first = measured || ours;
  if (bound && bound.ns && first) parts.push(["", `${(first.ns / bound.ns).toFixed(3)}`, ` times the bound of ${CS.time(bound.ns)}`]);
  const baselines = summary.periods.filter((period) => period.kind === "baseline" && period.ns);
  const best = d3.min(baselines, (period) => period.ns);
  if (best && ours) {
    const { name } = baselines.find((period) => period.ns === best);
    const gain = best / ours.ns - 1;
    if (gain >= 0.0005) parts.push(["", CS.percent(gain), ` faster than the best published policy (${name})`]);
    else parts.push(["as fast as the best published policy (", name, ")"]);
  }
  const headline = CS.byId("headline");
  parts.forEach(([before, strong, after], i) => {
    const b = document.createElement("b");
    b.textContent = strong;
    headline.append(i ? "; " : "", before, b, after);
  });
};

CS.theme = function (timeline) {
  const root = document.documentElement;
  const redraw = () => {
    timeline.draw.readColors();
    timeline.redraw();
  };
  CS.byId("theme").addEventListener("click", () => {
    const dark = getComputedStyle(root).colorScheme === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
};

/// "#find=conv1&from=0&to=1000": what a link to this page shows first.
CS.fromAddress = function (timeline, search) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("theme")) {
    document.documentElement.dataset.theme = wanted.get("theme");
    timeline.draw.readColors();
  }
  if (wanted.has("from") || wanted.has("to"))
    timeline.goTo(Number(wanted.get("from") || 0), Number(wanted.get("to") || timeline.model.span));
  if (wanted.has("find")) {
    CS.byId("find").value = wanted.get("find");
    search.find(wanted.get("find"));
  }
};

CS.main = async function () {
  const summary = JSON.parse(CS.byId("summary").textContent);
  CS.byId("title").textContent = summary.title;
  CS.headline(summary);
  CS.periods(summary);
  CS.whatIf(summary);
  for (const [name, value] of summary.facts) {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    CS.byId("facts").append(dt, dd);
  }
  const strings = await CS.decode(CS.byId("events").textContent, summary);
  CS.byId("events").textContent = "";
  const model = new CS.Model(summary, strings);
  const timeline = new CS.Timeline(model);
  const search = new CS.Search(timeline);
  new CS.Waits(timeline);
  CS.navigate(timeline, search);
  CS.legend();
  CS.theme(timeline);
  CS.fromAddress(timeline, search);
  timeline.drawNow();
  document.documentElement.dataset.ready = "yes";
};

CS.main().catch((error) => {
  const problem = CS.byId("problem");
  problem.hidden = false;
  problem.textContent = `This report cannot be shown: ${error.message}`;
  document.documentElement.dataset.ready = "failed";
  throw error;
});
