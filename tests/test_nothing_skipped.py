# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin that lets no test be skipped."""
import pytest

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("source, skipped, failed, errors", [
    ("def test_a(): pytest.skip('cs-run is not built')", 0, 1, 0),
    ("@pytest.mark.skipif(True, reason='no cs-opt')\ndef test_a(): pass", 0, 0, 1),
    ("@pytest.fixture\ndef tool(): pytest.skip('cs-run')\ndef test_a(tool): pass", 0, 0, 1),
    ("pytest.importorskip('no_such_package')\ndef test_a(): pass", 0, 0, 1),
    ("pytestmark = pytest.mark.skipif(True, reason='COMMSCHED_DATA is not set: none')\ndef test_a(): pass", 1, 0, 0),
    ("def test_a(): pytest.skip('needs root')", 1, 0, 0),
    ("@pytest.mark.xfail\ndef test_a(): assert False", 0, 0, 0)])
def test_skips(pytester, source, skipped, failed, errors):
    pytester.makepyfile(f"import pytest\n{source}\n")
    outcomes = pytester.runpytest_subprocess("-p", "nothing_skipped").parseoutcomes()
    outcomes = {kind: outcomes.get(kind, outcomes.get(kind.rstrip("s"), 0)) for kind in ("skipped", "failed", "errors")}
    assert outcomes == {"skipped": skipped, "failed": failed, "errors": errors}


@pytest.mark.parametrize("source, status", [
    ("pytest.importorskip('no_such_package', reason='needs no_such_package')", 77), ("", 5),
    ("pytest.importorskip('no_such_package')", 2), ("def test_a(): pytest.skip('needs root')", 0)])
def test_status(pytester, source, status):
    pytester.makepyfile(f"import pytest\n{source}\n")
    assert pytester.runpytest_subprocess("-p", "nothing_skipped").ret == status
