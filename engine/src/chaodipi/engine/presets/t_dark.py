"""The dark-stir tournament: S3."""

VALUES = {
    "decks": 2, "hand": 25, "bottom": 8, "direction": "counter_clockwise", "start_level": "2",
    "heart_five": "plain", "two_permanent": False,
    "adjacency": "order", "ace_low": False, "level_gap": "all", "triples": False,
    "k510": False, "heart_510k_side": False, "double_510k_ruff": "same",
    "dark": True, "overcall": "dark_pair",
    "ladder": ("single", "D", "C", "H", "S", "bj", "rj"),
    "first_showing": "single", "first_dealer": "last_shown", "dealer_seat": "rotation",
    "no_declare_first": "turn_for_dealer", "no_declare_later": "turn_level", "min_trumps_to_call": 0, "redeal_cap": 3,
    "stir": "after_bury", "stir_order": "next", "stir_bar": "caller_and_dealer", "stir_strength": "any",
    "blind_stir_fail": 0, "show_once": True, "stake_doubling": False,
    "throw_penalty": 10, "penalty_floor": "zero", "ruff_longest_tractor": False,
    "dig_tractor": "power", "heaven": "none", "heaven_exact": False, "heaven_award": 0,
    "heart_five_forced": 0, "heart_five_kept": 0,
    "stage": 80, "steps": "tens", "sweep_steps": 9, "jump": True, "first_deal_knockout": True,
    "fall_back": "table", "must_play": ("2", "J", "A"), "must_play_release": "played",
    "past_ace": "game_won", "laps": 1, "payout": "none", "match": "game",
    "irregularities": "dark", "look_again": True, "bury_s": 90, "play_s": 15,
}  # fmt: skip
