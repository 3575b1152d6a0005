"""The presets: one module each, a table of values and nothing else."""

from chaodipi.engine.presets import (
    an_chao,
    baomahui,
    huanle_1,
    huanle_2,
    huanle_3,
    hunan,
    in_play,
    kang_qi,
    ming_chao,
    t_dark,
    t_timed,
)

PRESETS = {
    "an_chao": an_chao.VALUES,
    "baomahui": baomahui.VALUES,
    "huanle_1": huanle_1.VALUES,
    "huanle_2": huanle_2.VALUES,
    "huanle_3": huanle_3.VALUES,
    "hunan": hunan.VALUES,
    "in_play": in_play.VALUES,
    "kang_qi": kang_qi.VALUES,
    "ming_chao": ming_chao.VALUES,
    "t_dark": t_dark.VALUES,
    "t_timed": t_timed.VALUES,
}
