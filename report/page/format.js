// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers with units, for people.

const CS = {};

/// "1.326 ms": of nanoseconds, four digits.
CS.time = function (ns) {
  if (!Number.isFinite(ns)) return "?";
  const size = Math.abs(ns);
  const [scale, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "\u00b5s"] : [1, "ns"];
  const value = ns / scale;
  const digits = unit === "ns" ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.max(1, Math.abs(value)))));
  return `${value.toFixed(digits)} ${unit}`;
};

/// "4.65 KiB"
CS.bytes = function (bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; ++unit) bytes /= 1024;
  return `${unit === 0 ? bytes : bytes.toPrecision(3)} ${units[unit]}`;
};

/// Labels of an axis that is `span` nanoseconds long.
CS.axisTime = function (span) {
  const [scale, unit] = span >= 2e9 ? [1e9, "s"] : span >= 2e6 ? [1e6, "ms"] : span >= 2e3 ? [1e3, "\u00b5s"] : [1, "ns"];
  return (ns) => `${Number((ns / scale).toPrecision(9))} ${unit}`;
};

CS.percent = (part) => `${(100 * part).toFixed(part < 0.0995 ? 1 : 0)} %`;
CS.color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
CS.byId = (id) => document.getElementById(id);
