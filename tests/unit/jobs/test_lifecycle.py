"""The lifecycle's tables are complete, and agree with each other."""

from __future__ import annotations

from itertools import product

import pytest

from jobs.lifecycle import DELIVERIES, FINAL, IN_FLIGHT, RULES, Action, Keep, Status, may

TABLE = {  # protocol.md section 4
    ("pending", "claimed"),
    ("pending", "canceled"),
    ("claimed", "running"),
    ("claimed", "pending"),
    ("claimed", "failed"),
    ("claimed", "canceled"),
    ("running", "completed"),
    ("running", "failed"),
    ("running", "canceled"),
    ("completed", "processed"),
    ("completed", "failed"),
    ("failed", "completed"),
    ("failed", "running"),
}


def test_transitions_are_the_protocols() -> None:
    assert {(source.value, rule.target.value) for rule in RULES.values() for source in rule.sources} == TABLE


def test_every_action_has_a_rule() -> None:
    assert set(RULES) == set(Action)
    assert all(rule.when and rule.target not in rule.sources for rule in RULES.values())


@pytest.mark.parametrize("status", sorted(FINAL))
def test_nothing_follows_what_is_final(status: Status) -> None:
    assert not [action for action in Action if may(action, status)]


def test_what_is_not_final_can_become_so() -> None:
    reachable = set(FINAL)
    for _ in Status:
        reachable |= {source for rule in RULES.values() if rule.target in reachable for source in rule.sources}
    assert reachable == set(Status)


EXPECTED = {
    ("completed", "running"): ("completed", Keep.ALWAYS),
    ("completed", "failed"): ("completed", Keep.ALWAYS),
    ("completed", "claimed"): ("completed", Keep.ALWAYS),
    ("completed", "canceled"): ("canceled", Keep.IF_NONE),
    ("failed", "claimed"): ("failed", Keep.ALWAYS),
    ("failed", "running"): ("failed", Keep.ALWAYS),
    ("failed", "failed"): ("failed", Keep.IF_NONE),
    ("canceled", "claimed"): ("canceled", Keep.NEVER),
    ("canceled", "running"): ("canceled", Keep.NEVER),
}
"""(message, status now) -> status afterwards, output; every other pair changes nothing."""


@pytest.mark.parametrize(("event", "status"), list(product(("completed", "failed", "canceled"), Status)))
def test_deliveries(event: str, status: Status) -> None:
    delivery = DELIVERIES[event, status]
    now = status
    for action in delivery.actions:
        assert may(action, now)
        now = RULES[action].target
    assert (now.value, delivery.keep) == EXPECTED.get((event, status.value), (status.value, Keep.NEVER))


def test_no_delivery_is_listed_twice_or_beside() -> None:
    assert set(DELIVERIES) == set(product(("completed", "failed", "canceled"), Status))


def test_in_flight_is_what_a_runner_has() -> None:
    assert {RULES[Action.CLAIM].target, RULES[Action.START].target} == IN_FLIGHT
