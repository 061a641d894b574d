# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the pictures in docs/images/ from the digits demo, on two workers: it is profiled, scheduled again with what was
measured, run, and its report is looked at.

    .venv/bin/python scripts/pictures.py

Needs the release build (or COMMSCHED_BIN, folders of tools separated by ":"), chromium and chromium-driver. What it makes
on the way lies in out/.
"""
import os
import pathlib
import shutil
import subprocess

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT, IMAGES, EXAMPLES = ROOT / "out", ROOT / "docs/images", ROOT / "examples"


def run(name, *arguments):
    path = shutil.which(name, path=os.environ.get("COMMSCHED_BIN", str(ROOT / "build/release/bin")))
    if path is None:
        raise SystemExit(f"pictures: {name} is not built")
    subprocess.run([path, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def make_report():
    program = (EXAMPLES / "digits.mlir").read_text()
    for four, two in (("cs.global_batch = 64", "cs.global_batch = 32"), ("cs.global_batch = 360", "cs.global_batch = 180")):
        program = program.replace(four, two)
    (OUT / "two.mlir").write_text(
        "cs.cluster @two nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>\n"
        "    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>\n")
    (OUT / "digits.mlir").write_text(program)
    data = ["--spawn", 2, "--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz",
            "--shuffle", "--steps", 200]
    pipeline = f"cluster={OUT}/two.mlir"
    run("cs-opt", f"--cs-all-reduce-pipeline={pipeline}", OUT / "digits.mlir", "-o", OUT / "first.mlir")
    run("cs-translate", "--mlir-to-plan", OUT / "first.mlir", "-o", OUT / "first.plan")
    run("cs-run", OUT / "first.plan", *data, "--profile", OUT / "digits.profile.json")
    run("cs-run", OUT / "first.plan", "--spawn", 2, "--calibrate", OUT / "digits.links.json")
    pipeline += f" profile={OUT}/digits.profile.json calibration={OUT}/digits.links.json"
    run("cs-opt", f"--cs-all-reduce-pipeline={pipeline}", OUT / "digits.mlir", "-o", OUT / "digits.schedule.mlir",
        f"--report={OUT}/digits.html")
    run("cs-translate", "--mlir-to-plan", OUT / "digits.schedule.mlir", "-o", OUT / "digits.plan")
    run("cs-run", OUT / "digits.plan", *data, "--report", OUT / "digits.run.html", "--predicted", OUT / "digits.trace.json")


def take_pictures():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--window-size=1180,1240"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        def open_page(view, ready="return document.querySelectorAll('#waits tr').length"):
            browser.get("about:blank")
            browser.get(f"file://{OUT}/digits.run.html{view}")
            WebDriverWait(browser, 30).until(lambda b: b.execute_script(ready))

        open_page("")
        browser.save_screenshot(str(IMAGES / "report.png"))
        browser.set_window_size(1180, 1900)
        open_page("#find=conv1")
        browser.find_element(By.ID, "step").click()
        browser.find_element(By.ID, "next").click()
        WebDriverWait(browser, 30).until(lambda b: "of" in b.find_element(By.ID, "matches").text)
        browser.execute_script("return new Promise((done) => setTimeout(done, 300))")
        section = browser.find_element(By.XPATH, "//section[h2[@id='h-timeline']]")
        section.screenshot(str(IMAGES / "trace.png"))
    finally:
        browser.quit()


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    IMAGES.mkdir(exist_ok=True)
    make_report()
    take_pictures()
    for picture in sorted(IMAGES.glob("*.png")):
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size} bytes")
