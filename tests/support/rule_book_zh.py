"""The words of the Chinese rule book, docs/规则.md, in English, for its reader in :mod:`tests.support.rule_book`."""

from collections.abc import Mapping

HEADINGS = {
    "规则": "preset", "级": "level", "主": "trump", "牌": "cards", "从大到小": "order, highest first",
    "算不算拖拉机": "one tractor?", "牌型": "pattern", "甩牌": "thrown", "另三家": "others hold", "结果": "outcome",
    "首家出": "led", "手牌": "hand", "可以": "legal", "不可以": "illegal", "这一圈": "trick", "谁赢": "winner",
    "赢牌": "winning play", "倍数": "multiplier", "得分": "score", "庄家方每人": "each of the dealer side",
    "闲家每人": "each catcher", "庄家方打": "dealer side on", "闲家打": "catchers on", "另": "more",
    "下副台上": "stage next", "庄家方以后": "dealer side after", "闲家以后": "catchers after", "为什么": "why",
    "项": "key",
}  # fmt: skip
"""Headings of tables."""

CELLS = {
    "三个房间": "rooms", "扛旗局": "flag deal", "不是一门": "not one class", "不是": "no", "是": "yes",
    "三张拖拉机": "triple_tractor", "拖拉机": "tractor", "单张": "single", "五十K": "510k",
    "成立": "stands", "甩错，出": "fails:", "；": "; ", "不合法": "illegal", "座位": "seat",
    "庄家方最后一手": "dealer side's last play", "最后一手": "last play", "台面": "table", " 分": "", "，": ", ",
    "庄家方": "dealer side", "闲家": "catchers", "赢了": "game won", "首副": "first deal",
    "第1圈": "lap 1", "第2圈": "lap 2", "第3圈": "lap 3", "扛旗": "flag", "（打过）": " played",
}  # fmt: skip
"""Words in the cells of examples."""

SCRIPT = {
    "，": ", ", "打": "level", "庄": "dealer", "庄未定": "dealer open", "台上": "on stage", "首副": "first deal",
    "手牌": "hand", "开始": "start", "首家": "leader", "亮": "shows", "炒": "stirs", "扣": "buries", "不炒": "passes",
    "出": "plays", "出牌": "play", "定": "naming", "回头望": "looking back", "停亮": "window closes", "不准": "refused",
    "主": "trump", "问过": "asked", "底在": "owner", "该": "next", "阶段": "phase", "倍": "stake", "分": "score",
    "收回": "returned", "桌上": "table", "底牌": "bottom", "超时": "times out", "次序": "order", "重发": "redeal",
}  # fmt: skip
"""Words of the blocks that play a deal."""

VALUES = {
    "是": "yes", "否": "no", "无": "none", "逆时针": "counter clockwise", "顺时针": "clockwise", "最大": "top",
    "普通": "plain", "大小": "order", "牌面": "face", "唯一": "unique", "处处": "all", "副牌": "side",
    "级别": "ladder", "四种": "four modes", "双王": "jokers", "暗对": "dark pair", "正主": "correction",
    "任一级": "rung", "单张": "single", "单张或对子": "single or pair", "后亮者": "last shown",
    "先亮者": "first shown", "轮庄": "rotation", "放牌": "placing", "重发": "redeal", "翻底定庄": "turn for dealer",
    "翻底": "turn", "照底": "turn all", "只翻级牌": "turn level", "无主": "no trump",
    "扣底后": "after bury", "首圈里": "first trick",
    "下家": "next", "先问庄家": "dealer first", "亮着的": "standing", "叫主者和庄家": "caller and dealer",
    "更大": "higher", "暗炒": "blind", "只看先后": "any", "罚到 0": "zero", "翻番": "power", "当对子": "pair",
    "8 倍": "eight", "分段": "bands", "十分一级": "tens", "双方": "both", "闲家": "catchers", "打赢": "won",
    "坐过庄": "played", "赢这局": "game won", "下一圈": "next lap", "扛旗": "flag", "回到 2": "wrap",
    "最后得分": "final", "台面": "table", "一局": "game", "定副数": "deals", "三局两胜": "best of three",
    "暗炒赛": "dark", "限时赛": "timed", "宝马会": "bao",
}  # fmt: skip
"""Cells of the tables of part 3."""

RUNGS = {"单张": "single", "回头望": "looking back", "四王": "four jokers", "三王": "three jokers"}
"""Words in the ladders of part 3."""


def english(text: str, words: Mapping[str, str]) -> str:
    """*text* with the Chinese *words* put into English, longer words first; an English text as it is."""
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, words[word])
    return text
