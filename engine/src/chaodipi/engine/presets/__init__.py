"""The presets: one module each, a table of values and nothing else."""

from chaodipi.engine.presets import huanle_2, in_play, ming_chao

PRESETS = {
    "huanle_2": huanle_2.VALUES,
    "in_play": in_play.VALUES,
    "ming_chao": ming_chao.VALUES,
}
