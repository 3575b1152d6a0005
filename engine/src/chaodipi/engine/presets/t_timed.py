"""The tournament with time limits: S4."""

VALUES = {
    "decks": 2, "hand": 25, "bottom": 8, "direction": "counter_clockwise", "start_level": "2",
    "heart_five": "plain", "two_permanent": False,
    "adjacency": "unique", "ace_low": False, "level_gap": "all", "triples": False,
    "k510": False, "heart_510k_side": False, "double_510k_ruff": "same",
    "dark": True, "overcall": "correction",
    "ladder": ("single", "D", "C", "H", "S", "bj", "rj"),
    "first_showing": "single", "first_dealer": "last_shown", "dealer_seat": "placing",
    "no_declare_first": "turn_for_dealer", "no_declare_later": "turn_level", "min_trumps_to_call": 0, "redeal_cap": 3,
    "stir": "after_bury", "stir_order": "next", "stir_bar": "caller_and_dealer", "stir_strength": "any",
    "blind_stir_fail": 0, "show_once": True, "stake_doubling": False,
    "throw_penalty": 10, "penalty_floor": "zero", "ruff_longest_tractor": False,
    "dig_tractor": "eight", "heaven": "none", "heaven_exact": False, "heaven_award": 0,
    "heart_five_forced": 0, "heart_five_kept": 0,
    "stage": 80, "steps": "tens", "sweep_steps": 9, "jump": False, "first_deal_knockout": False,
    "fall_back": "none", "must_play": ("J", "A"), "must_play_release": "played",
    "past_ace": "game_won", "laps": 1, "payout": "none", "match": "best_of_three",
    "irregularities": "timed", "look_again": False, "bury_s": 90, "play_s": 15,
}  # fmt: skip
