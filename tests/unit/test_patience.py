"""How long a table waits for bots that are away, with literal times."""

from chaodipi.service.host.patience import Patience


def test_who_is_away_is_waited_for_so_long_and_not_longer() -> None:
    patience = Patience(60.0)
    assert patience.left_s({"dog"}, 100.0) == 60.0
    assert patience.left_s({"dog"}, 130.0) == 30.0
    assert patience.left_s({"dog"}, 160.0) == 0.0
    assert patience.left_s({"dog"}, 200.0) == 0.0


def test_who_leaves_when_another_one_comes_has_a_time_of_his_own() -> None:
    patience = Patience(60.0)
    assert patience.left_s({"dog"}, 0.0) == 60.0
    assert patience.left_s({"cat"}, 59.0) == 60.0
    assert patience.left_s({"cat", "dog"}, 109.0) == 10.0
    assert patience.left_s({"dog"}, 109.5) == 0.5


def test_two_who_come_and_go_in_turn_hold_nobody_up_for_ever() -> None:
    patience = Patience(60.0)
    now = 0.0
    while patience.left_s({"cat"}, now) and patience.left_s({"dog"}, now + 1):
        now += 2
    assert now <= 120


def test_once_all_are_here_everybody_has_all_of_it_again() -> None:
    patience = Patience(60.0)
    patience.left_s({"dog"}, 0.0)
    assert patience.left_s(set(), 50.0) == 0.0
    assert patience.left_s({"dog"}, 1000.0) == 60.0
