# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plugin of pytest: a test that is skipped has failed.

What a build has, its tests need, and scripts/setup.sh --tests installs the rest: a tool that is not built or was
renamed, or a package that is not there, is a failure. Only what a machine may lack (the right to make network
namespaces, profiles of real models) may be missing: reasons that begin as ALLOWED says."""
import pytest

ALL_SKIPPED = 77  # exit status: all that was collected may be missing here, and is; SKIP_RETURN_CODE of ctest
ALLOWED = ("needs ", "COMMSCHED_DATA is not set")


def _judge(report):
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2]).removeprefix("Skipped: ")
    if not reason.startswith(ALLOWED):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid or 'a file'} was skipped, which is a failure here: {reason}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    _judge(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    outcome = yield
    _judge(outcome.get_result())


def pytest_sessionfinish(session, exitstatus):
    # A module that skips itself leaves nothing to run, which pytest takes for an error.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and reporter.stats.get("skipped"):
        session.exitstatus = ALL_SKIPPED
