"""欢乐升级 with 反底 and triples, three decks: S2b-23, S2b-49."""

VALUES = {
    "decks": 3, "hand": 39, "bottom": 6, "direction": "counter_clockwise", "start_level": "2",
    "heart_five": "plain", "two_permanent": False,
    "adjacency": "order", "ace_low": False, "level_gap": "all", "triples": True,
    "k510": False, "heart_510k_side": False, "double_510k_ruff": "same",
    "dark": False, "overcall": "four_modes",
    "ladder": ("single", "D", "C", "H", "S", "bj", "rj", "D3", "C3", "H3", "S3", "bj3", "rj3"),
    "first_showing": "single_or_pair", "first_dealer": "first_shown", "dealer_seat": "rotation",
    "no_declare_first": "redeal", "no_declare_later": "no_trump", "min_trumps_to_call": 0, "redeal_cap": 3,
    "stir": "after_bury", "stir_order": "next", "stir_bar": "none", "stir_strength": "higher",
    "blind_stir_fail": 0, "show_once": False, "stake_doubling": True,
    "throw_penalty": 0, "penalty_floor": "none", "ruff_longest_tractor": False,
    "dig_tractor": "power", "heaven": "none", "heaven_exact": False, "heaven_award": 0,
    "heart_five_forced": 0, "heart_five_kept": 0,
    "stage": 120, "steps": "bands", "sweep_steps": 3, "jump": False, "first_deal_knockout": False,
    "fall_back": "none", "must_play": ("A",), "must_play_release": "won",
    "past_ace": "game_won", "laps": 1, "payout": "none", "match": "game",
    "irregularities": "none", "look_again": True, "bury_s": 90, "play_s": 15,
}  # fmt: skip
