"""暗炒房间, the blind-stir room: S0-32 to S0-46 over the common room rules."""

VALUES = {
    "decks": 2, "hand": 25, "bottom": 8, "direction": "counter_clockwise", "start_level": "2",
    "heart_five": "top", "two_permanent": False,
    "adjacency": "face", "ace_low": True, "level_gap": "none", "triples": False,
    "k510": True, "heart_510k_side": True, "double_510k_ruff": "same",
    "dark": True, "overcall": "ladder",
    "ladder": ("single", "C", "D", "S", "H", "bj", "rj", "H5", "looking_back"),
    "first_showing": "rung", "first_dealer": "last_shown", "dealer_seat": "rotation",
    "no_declare_first": "redeal", "no_declare_later": "turn", "min_trumps_to_call": 0, "redeal_cap": 3,
    "stir": "after_bury", "stir_order": "next", "stir_bar": "standing", "stir_strength": "blind",
    "blind_stir_fail": 80, "show_once": True, "stake_doubling": False,
    "throw_penalty": 10, "penalty_floor": "none", "ruff_longest_tractor": True,
    "dig_tractor": "pair", "heaven": "both", "heaven_exact": True, "heaven_award": 16,
    "heart_five_forced": 50, "heart_five_kept": 50,
    "stage": 80, "steps": "bands", "sweep_steps": 3, "jump": False, "first_deal_knockout": False,
    "fall_back": "none", "must_play": ("A",), "must_play_release": "won",
    "past_ace": "next_lap", "laps": 3, "payout": "none", "match": "game",
    "irregularities": "none", "look_again": True, "bury_s": 90, "play_s": 15,
}  # fmt: skip
