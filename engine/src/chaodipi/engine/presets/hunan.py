"""The game of Hunan: S2a-39, S2a-40 over two-pack Shengji, as 欢乐升级 has it (S2b)."""

VALUES = {
    "decks": 2, "hand": 25, "bottom": 8, "direction": "counter_clockwise", "start_level": "2",
    "heart_five": "plain", "two_permanent": True,
    "adjacency": "order", "ace_low": False, "level_gap": "all", "triples": False,
    "k510": False, "heart_510k_side": False, "double_510k_ruff": "same",
    "dark": False, "overcall": "ladder",
    "ladder": ("single", "D", "C", "H", "S", "bj", "rj", "three_jokers"),
    "first_showing": "rung", "first_dealer": "last_shown", "dealer_seat": "rotation",
    "no_declare_first": "redeal", "no_declare_later": "redeal", "min_trumps_to_call": 5, "redeal_cap": 3,
    "stir": "after_bury", "stir_order": "next", "stir_bar": "none", "stir_strength": "higher",
    "blind_stir_fail": 0, "show_once": False, "stake_doubling": False,
    "throw_penalty": 0, "penalty_floor": "none", "ruff_longest_tractor": False,
    "dig_tractor": "power", "heaven": "none", "heaven_exact": False, "heaven_award": 0,
    "heart_five_forced": 0, "heart_five_kept": 0,
    "stage": 80, "steps": "bands", "sweep_steps": 3, "jump": False, "first_deal_knockout": False,
    "fall_back": "none", "must_play": ("A",), "must_play_release": "won",
    "past_ace": "game_won", "laps": 1, "payout": "none", "match": "game",
    "irregularities": "none", "look_again": True, "bury_s": 90, "play_s": 15,
}  # fmt: skip
