"""The presets: one module each, a table of values and nothing else."""

from chaodipi.engine.presets import baomahui, huanle_2, hunan, in_play, ming_chao

PRESETS = {
    "baomahui": baomahui.VALUES,
    "huanle_2": huanle_2.VALUES,
    "hunan": hunan.VALUES,
    "in_play": in_play.VALUES,
    "ming_chao": ming_chao.VALUES,
}
