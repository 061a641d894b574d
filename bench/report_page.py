# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports of long runs: how large the page is, how long it takes to write and to open.

A trace of 4 ranks, 60 fragments and 40 messages of a step each way, with times that vary by a
tenth, of as many steps as make the events; `cs-run --report` makes a page of all of it. Chromium opens it, if it
and selenium are installed.
"""
import argparse
import json
import pathlib
import random
import shutil
import tempfile
import time

from _tools import call, tool

ROOT = pathlib.Path(__file__).resolve().parents[1]

RANKS, FRAGMENTS, MESSAGES = 4, 60, 40


def write_trace(path, events):
    """In the form of runtime/measure/trace.h; returns how many events there are."""
    draw = random.Random(1)
    count = 0
    with open(path, "w") as out:
        out.write('{"displayTimeUnit":"ms","otherData":{"dropped_spans":0},"traceEvents":[\n')
        threads = ["compute", "send to %d", "receive from %d"]
        for rank in range(RANKS):
            out.write('{"ph":"M","name":"process_name","pid":%d,"args":{"name":"rank %d"}},\n' % (rank, rank))
            for i, name in enumerate(threads):
                peer = (rank + (1 if i == 1 else RANKS - 1)) % RANKS
                out.write('{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"%s"}},\n' % (
                    rank, 3 * rank + i, name % peer if "%" in name else name))
        step = 0
        clock = [[0.0] * 3 for _ in range(RANKS)]
        lines = []

        def add(name, category, rank, thread, length, size=0):
            begin = clock[rank][thread]
            clock[rank][thread] += length
            lines.append('{"ph":"X","name":"%s","cat":"%s","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"call":%d%s}}' % (
                name, category, rank, 3 * rank + thread, begin, length, step, ',"bytes":%d' % size if size else ""))

        while count + len(lines) < events:
            for rank in range(RANKS):
                start = max(clock[rank])
                clock[rank] = [start] * 3
                for fragment in range(FRAGMENTS):
                    add("compute.%d" % fragment, "compute", rank, 0, draw.uniform(0.9, 1.1) * (100 + 7 * fragment))
                for message in range(MESSAGES):
                    for thread in (1, 2):
                        add("layer%d.w" % message, "message", rank, thread, draw.uniform(0.9, 1.1) * (200 + 9 * message),
                            40000 * (message + 1))
                clock[rank][0] = max(clock[rank])
                add("wait for layer%d.w" % (MESSAGES - 1), "exposed wait", rank, 0, draw.uniform(50, 80))
            step += 1
            if len(lines) > 100000:
                count += len(lines)
                out.write(",\n".join(lines) + ",\n")
                lines = []
        count += len(lines)
        out.write(",\n".join(lines) + "\n]}\n")
    return count


def open_page(path):
    """Seconds until Chromium shows the page, and to search and to zoom in it; none without it."""
    try:
        from selenium import webdriver
        from selenium.webdriver.support.ui import WebDriverWait
    except ImportError:
        return None
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1000"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        begin = time.perf_counter()
        browser.get(f"file://{path}")
        WebDriverWait(browser, 300).until(
            lambda b: b.execute_script("return document.documentElement.dataset.ready") is not None)
        assert browser.execute_script("return document.documentElement.dataset.ready") == "yes"
        shown = time.perf_counter() - begin
        measure = """const f = document.getElementById("find");
            const begin = performance.now(); %s; const end = performance.now(); return (end - begin) / 1000"""
        find = browser.execute_script(measure % 'f.value = "layer1"; f.dispatchEvent(new Event("input"))')
        frame = browser.execute_async_script("""const done = arguments[0];
            f = document.getElementById("find"); f.value = ""; f.dispatchEvent(new Event("input"));
            requestAnimationFrame(() => requestAnimationFrame(() => {
              const begin = performance.now();
              document.getElementById("zoom-in").click();
              requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - begin) / 1000)));
            }));""")
        return {"open_s": round(shown, 2), "find_s": round(find, 3), "zoom_s": round(frame, 3)}
    finally:
        browser.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="a hundred thousand events")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        call(tool("cs-opt"), "--cs-all-reduce-pipeline", ROOT / "examples/linear.mlir", "-o", folder / "p.mlir")
        call(tool("cs-translate"), "--mlir-to-plan", folder / "p.mlir", "-o", folder / "p.plan")
        events = write_trace(folder / "trace.json", 100_000 if arguments.quick else arguments.events)
        begin = time.perf_counter()
        call(tool("cs-run"), folder / "p.plan", "--measured", folder / "trace.json", "--report", folder / "page.html",
             "--report-steps", 0)
        written = time.perf_counter() - begin
        result = {"events": events, "trace_bytes": (folder / "trace.json").stat().st_size,
                  "page_bytes": (folder / "page.html").stat().st_size, "write_s": round(written, 2)}
        result.update(open_page(folder / "page.html") or {})
    for name, value in result.items():
        print(f"{name:12} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
