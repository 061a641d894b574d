# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages in a headless Chromium (Debian's chromium and chromium-driver)."""
import json
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402


@pytest.fixture(scope="session")
def browser():
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("chromium and chromium-driver are not installed (scripts/setup.sh --tests)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1300,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


def open_page(browser, path, view=""):
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(f"file://{path}{view}")
    wait(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready"))
    assert browser.execute_script("return document.documentElement.dataset.ready") == "yes", text(browser, "problem")


def wait(browser, condition):
    WebDriverWait(browser, 30).until(lambda _: condition())


def text(browser, name):
    return browser.find_element(By.ID, name).text


def view(browser):
    """What the canvas shows, in nanoseconds."""
    canvas = browser.find_element(By.ID, "canvas")
    return float(canvas.get_attribute("data-from")), float(canvas.get_attribute("data-to"))


def keys(browser, *pressed):
    browser.find_element(By.ID, "timeline").send_keys(*pressed)


@pytest.fixture(params=["predicted_page", "measured_page"])
def page(request, browser):
    page = request.getfixturevalue(request.param)
    open_page(browser, page.path)
    return page


def test_it_loads_alone_and_without_errors(browser, page):
    assert browser.get_log("browser") == []
    requests = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            requests.append(message["params"]["request"]["url"])
    assert requests == [f"file://{page.path}"]


def test_it_shows_the_numbers(browser, page):
    assert text(browser, "title") == page.summary["title"]
    shown = text(browser, "periods")
    for period in page.summary["periods"]:
        milliseconds = period["ns"] / 1e6
        if period["kind"] != "bound":
            assert period["name"] in shown
        if 1 <= milliseconds < 10:
            assert f"{milliseconds:.3f} ms" in shown, period["name"]
    for what_if in page.summary["what_ifs"]:
        assert what_if["name"] in text(browser, "what-if")
    for name, value in page.summary["facts"]:
        assert name in text(browser, "facts") and value in text(browser, "facts")


def test_the_share_of_waiting_is_of_the_time_that_it_is_summed_over(browser, page):
    """Waits outside of the steps, and steps that are longer than others, made it more than all of it."""
    caption = """
        const waits = Object.create(CS.Waits.prototype);
        const track = { link: false, process: 0, category: [CS.kExposed], name: [0], detail: [1],
                        begin: arguments[0], end: arguments[1] };
        const timeline = { name: "made", steps: [100, 200, 400], tracks: [track, track] };
        waits.model = { summary: { timelines: [timeline] }, strings: ["w", "because"] };
        waits.all = new Set();
        waits.timeline = { reveal() {} };
        waits.update({ from: arguments[2], to: arguments[3] });
        return document.querySelector("#waits caption").textContent;"""
    assert browser.execute_script(caption, [0], [500], 0, 500) == "made: 150 ns per step, 100 % of the time"
    assert browser.execute_script(caption, [220], [400], 200, 400) == "made: 180 ns per step, 90 % of the time"
    assert browser.execute_script(caption, [0], [90], 0, 500) == "made: compute waits for nothing"


def test_nothing_overlaps_on_a_narrow_screen(browser, page):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    try:
        open_page(browser, page.path)
        wait(browser, lambda: text(browser, "waits"))
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        overlaps = browser.execute_script("""
            const found = [];
            const boxes = (selector) => [...document.querySelectorAll(selector)].map((e) => [e.textContent || e.tagName, e.getBoundingClientRect()]);
            const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
            for (const chart of ["#periods", "#what-if"]) {
              const all = boxes(`${chart} text, ${chart} rect, ${chart} line.bound`);
              all.forEach(([name, box], i) => {
                if (box.left < 0 || box.right > 391) found.push(`${name} is not on the page`);
                for (const [other, its] of all.slice(i + 1))
                  if (meet(box, its)) found.push(`${name} is on ${other}`);
              });
            }
            for (const cell of document.querySelectorAll("#waits th, #waits td"))
              if (cell.scrollWidth > cell.clientWidth + 1) found.push(`${cell.textContent} is wider than its cell`);
            return found;""")
        assert overlaps == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_says_why_compute_waits(browser, page):
    wait(browser, lambda: text(browser, "waits"))
    shown = text(browser, "waits")
    for timeline in page.summary["timelines"]:
        of = [e for e in page.events if e["timeline"] == timeline["name"] and e["category"] == "exposed"]
        assert timeline["name"] in shown
        # A row is of a name and a reason; what comes before and after the steps is in none.
        first, last = timeline["steps"][0], timeline["steps"][-1]
        totals = {}
        for event in of:
            row = event["name"], event["detail"]
            totals[row] = totals.get(row, 0) + max(0, min(event["end"], last) - max(event["begin"], first))
        name, detail = max(totals, key=totals.get)
        assert f"{name} {detail}" in shown.replace("\n", " ")


def test_search_finds_events(browser, page):
    field = browser.find_element(By.ID, "find")
    field.send_keys("CONV1")
    names = {e["name"] for e in page.events if "conv1" in e["name"]}
    count = sum(e["name"] in names for e in page.events)
    assert count and text(browser, "matches") == f"{count} events, {len(names)} name{'s' if len(names) > 1 else ''}"
    # The first that begins in what is shown: of a run, one may have begun before.
    earlier = sum(e["name"] in names and e["begin"] < view(browser)[0] for e in page.events)
    field.send_keys(Keys.ENTER)
    assert text(browser, "matches") == f"{earlier + 1} of {count} events"
    assert "conv1" in text(browser, "detail")
    field.clear()
    field.send_keys("no such name")
    assert text(browser, "matches") == "nothing has this name"


def test_zoom(browser, page):
    wait(browser, lambda: browser.find_element(By.ID, "canvas").get_attribute("data-to"))
    begin, end = view(browser)
    assert begin == 0
    browser.find_element(By.ID, "zoom-in").click()
    wait(browser, lambda: view(browser) != (begin, end))
    inner = view(browser)
    assert inner[1] - inner[0] == pytest.approx((end - begin) / 2)
    keys(browser, "0")
    wait(browser, lambda: view(browser)[0] == 0)
    assert view(browser)[1] == pytest.approx(end)
    keys(browser, "s")
    wait(browser, lambda: view(browser)[1] < end)
    steps = page.summary["timelines"][0]["steps"]
    assert view(browser) == pytest.approx((steps[0], steps[1]), abs=2)
    keys(browser, Keys.ARROW_RIGHT)
    wait(browser, lambda: view(browser)[0] > steps[0] + 1)
    length = steps[1] - steps[0]
    assert view(browser) == pytest.approx((0.2 * length, 1.2 * length), rel=1e-3)


def test_keys_go_from_event_to_event(browser, page):
    keys(browser, "]")
    first = text(browser, "detail")
    keys(browser, "]")
    second = text(browser, "detail")
    assert first != second and "step" in second
    keys(browser, "[")
    assert text(browser, "detail") == first
    keys(browser, Keys.ARROW_DOWN)
    assert text(browser, "detail") != first
    keys(browser, "/")
    assert browser.switch_to.active_element.get_attribute("id") == "find"


def test_a_row_of_the_table_shows_the_event(browser, page):
    wait(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "#waits tr[tabindex]"))
    before = view(browser)
    browser.find_element(By.CSS_SELECTOR, "#waits tr[tabindex]").send_keys(Keys.ENTER)
    wait(browser, lambda: view(browser) != before)
    assert "compute waits" in text(browser, "detail")


def test_something_is_drawn_light_and_dark(browser, page):
    def pixels():
        return set(map(tuple, browser.execute_script("""
            const c = document.getElementById("canvas");
            const data = c.getContext("2d").getImageData(170, 0, c.width - 170, c.height).data;
            const colors = new Map();
            for (let i = 0; i < data.length; i += 4) colors.set(data[i] * 65536 + data[i + 1] * 256 + data[i + 2], 1);
            return [...colors.keys()].slice(0, 5000).map((v) => [v]);""")))

    light = pixels()
    assert len(light) > 20
    browser.find_element(By.ID, "theme").click()
    wait(browser, lambda: pixels() != light)
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(20, 24, 29)"


def test_a_link_to_a_view(browser, predicted_page):
    open_page(browser, predicted_page.path, "#from=100000&to=500000&find=conv2.w")
    wait(browser, lambda: browser.find_element(By.ID, "canvas").get_attribute("data-to"))
    assert view(browser) == pytest.approx((100000, 500000))
    assert "events" in text(browser, "matches")


def test_a_damaged_page_says_so(browser, predicted_page, tmp_path):
    page = predicted_page.path.read_text()
    at = page.index('id="events">') + 40
    (tmp_path / "damaged.html").write_text(page[:at] + "AAAA" + page[at + 4:])
    browser.get(f"file://{tmp_path}/damaged.html")
    wait(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready") == "failed")
    assert text(browser, "problem").startswith("This report cannot be shown: ")
