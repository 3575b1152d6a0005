"""The presets: one module each, a table of values and nothing else."""

from chaodipi.engine.presets import huanle_2, ming_chao

PRESETS = {
    "huanle_2": huanle_2.VALUES,
    "ming_chao": ming_chao.VALUES,
}
