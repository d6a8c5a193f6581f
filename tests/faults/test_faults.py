"""A sample of `make faults`: kills and errors at every n-th call of some commands."""

from pathlib import Path

import pytest

from faults import SCENARIOS, Bench, Scenario

SAMPLED = {"capture": 29, "relate": 61, "organize, first": 43, "report": 5, "relate after a kill": 71}


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.name in SAMPLED], ids=lambda one: one.name)
def test_nothing_is_lost(scenario: Scenario, tmp_path: Path) -> None:
    bench = Bench(scenario, tmp_path)
    bench.prepare()
    faults = list(bench.faults())
    assert len(faults) > 50
    wrong = {str(fault): bench.check(fault, "case") for fault in faults[:: SAMPLED[scenario.name]]}
    assert {fault: text for fault, text in wrong.items() if text} == {}
