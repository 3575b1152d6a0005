"""扛旗房间, the flag-carrying room: S0-47 to S0-57 over the common room rules."""

VALUES = {
    "decks": 2, "hand": 25, "bottom": 8, "direction": "counter_clockwise", "start_level": "2",
    "heart_five": "top", "two_permanent": False,
    "adjacency": "face", "ace_low": True, "level_gap": "side", "triples": False,
    "k510": True, "heart_510k_side": False, "double_510k_ruff": "same",
    "dark": False, "overcall": "ladder",
    "ladder": ("single", "D", "C", "H", "S", "bj", "rj", "H5"),
    "first_showing": "rung", "first_dealer": "last_shown", "dealer_seat": "rotation",
    "no_declare_first": "redeal", "no_declare_later": "turn", "min_trumps_to_call": 0, "redeal_cap": 3,
    "stir": "after_bury", "stir_order": "next", "stir_bar": "standing", "stir_strength": "higher",
    "blind_stir_fail": 0, "show_once": False, "stake_doubling": False,
    "throw_penalty": 10, "penalty_floor": "none", "ruff_longest_tractor": True,
    "dig_tractor": "pair", "heaven": "catchers", "heaven_exact": False, "heaven_award": 16,
    "heart_five_forced": 0, "heart_five_kept": 0,
    "stage": 80, "steps": "bands", "sweep_steps": 3, "jump": False, "first_deal_knockout": False,
    "fall_back": "none", "must_play": ("A",), "must_play_release": "won",
    "past_ace": "flag", "laps": 1, "payout": "none", "match": "game",
    "irregularities": "none", "look_again": True, "bury_s": 90, "play_s": 15,
}  # fmt: skip
