"""RulesService over a socket: it answers as the judge does, and names every bad field."""

import contextlib
import itertools
import json
from typing import Any

import grpc
import pytest
from chaodipi.engine.cards import Rank, Suit, parse_cards
from chaodipi.engine.judge import answer
from chaodipi.engine.ruleset import preset_names, resolve
from chaodipi.service.host.host import Host
from chaodipi.service.host.identity import hash_token
from chaodipi.service.rpc.server import start_server
from chaodipi.v1 import rules_pb2, rules_pb2_grpc

from tests.support.golden import extra_lines, golden_lines

BEARER = (("authorization", "Bearer secret"),)


@contextlib.asynccontextmanager
async def rules_service():
    host = Host({"ant": hash_token("secret")})
    server, port = await start_server(host)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = rules_pb2_grpc.RulesServiceStub(channel)
        yield stub
    await server.stop(None)


def cards(text):
    words = text if isinstance(text, str) else " ".join(text)
    return [int(card) for card in parse_cards(words)]


def situation(ask, lead=""):
    ruleset = ask["ruleset"]
    base, overrides = (ruleset, {}) if isinstance(ruleset, str) else (ruleset["base"], ruleset["overrides"])
    out = rules_pb2.Situation(
        ruleset=f"rulesets/{base}",
        overrides={key: json.dumps(value) for key, value in overrides.items()},
        hand=cards(ask["hand"]),
    )
    out.trump.suit = next(int(suit) for suit in Suit if suit.letter == ask["trump"])
    if "level" in ask:
        out.trump.level = int(Rank.parse(ask["level"]))
    if lead:
        out.trick.add(cards=cards(lead))
    return out


def expanded(choice, hand):
    """Every choice that is in the set by the words of the protocol."""
    triples = [tuple(choice.triple_pool[i : i + 3]) for i in range(0, len(choice.triple_pool), 3)]
    pairs = [tuple(choice.pair_pool[i : i + 2]) for i in range(0, len(choice.pair_pool), 2)]
    out = set()
    alike = itertools.product(
        itertools.combinations(triples, choice.choose_triples), itertools.combinations(pairs, choice.choose_pairs)
    )
    for chosen in map(itertools.chain.from_iterable, alike):
        chosen = list(chosen)
        for size in range(choice.choose_min, choice.choose_max + 1):
            for single in itertools.combinations(choice.pool, size):
                play = sorted([*choice.forced, *itertools.chain(*chosen), *single])
                if all(play.count(card) <= hand.count(card) for card in play):
                    out.add(tuple(play))
    return out


FOLLOWS = [line for line in golden_lines() if line["ask"]["op"] == "follow"]
LISTS = [line for line in [*golden_lines(), *extra_lines()] if line["ask"]["op"] == "follows"]


async def test_check_play_answers_as_the_judge():
    """Every golden position of following: legal or not, for the same reason and clauses."""
    async with rules_service() as rules:
        for line in FOLLOWS:
            ask = line["ask"]
            request = rules_pb2.CheckPlayRequest(situation=situation(ask, ask["lead"]), cards=cards(ask["cards"]))
            got = await rules.CheckPlay(request, metadata=BEARER)
            said = answer(dict(ask))["result"]
            assert got.legal is said["legal"], line["id"]
            if not got.legal:
                assert got.problem.reason == said["reason"], line["id"]
                assert got.problem.metadata["clauses"].split() == said["clauses"], line["id"]
    assert FOLLOWS


async def test_list_legal_plays_holds_the_judges_plays_and_no_other():
    async with rules_service() as rules:
        for line in LISTS:
            ask = line["ask"]
            request = rules_pb2.ListLegalPlaysRequest(situation=situation(ask, ask["lead"]))
            got = await rules.ListLegalPlays(request, metadata=BEARER)
            said = answer({**ask, "limit": 5_000})["result"]
            assert got.legal.complete
            wanted = {tuple(sorted(cards(play))) for play in said["plays"]}
            assert said["count"] == len(wanted)
            found = set().union(*(expanded(choice, cards(ask["hand"])) for choice in got.legal.choice_sets))
            assert found == wanted, line["id"]
    assert LISTS


async def test_components_are_typed():
    async with rules_service() as rules:
        ask = {"ruleset": "ming_chao", "trump": "S", "level": "2", "hand": "H9 H9 H8 H8 HA C5 CT CK rj rj bj bj"}
        for played, kinds in [
            ("H9 H9 H8 H8", [("TRACTOR", 2)]),
            ("C5 CT CK", [("510K", 1)]),
            ("HA", [("SINGLE", 1)]),
            ("HA H9 H9", [("SINGLE", 1), ("PAIR", 1)]),
            ("rj rj bj bj", [("TRACTOR", 2)]),
        ]:
            got = await rules.CheckPlay(
                rules_pb2.CheckPlayRequest(situation=situation(ask), cards=cards(played)), metadata=BEARER
            )
            said = [
                (rules_pb2.ComponentKind.Name(part.kind).removeprefix("COMPONENT_KIND_"), part.length)
                for part in got.components
            ]
            assert (got.legal, said) == (True, kinds), played


async def test_rulesets_come_in_pages():
    async with rules_service() as rules:
        whole = await rules.ListRulesets(rules_pb2.ListRulesetsRequest(), metadata=BEARER)
        assert [r.name for r in whole.rulesets] == [f"rulesets/{name}" for name in preset_names()]
        assert not whole.next_page_token
        token, seen = "", []
        for _ in preset_names():
            page = await rules.ListRulesets(
                rules_pb2.ListRulesetsRequest(page_size=1, page_token=token), metadata=BEARER
            )
            seen += [(r.name, r.digest) for r in page.rulesets]
            token = page.next_page_token
        assert seen == [(f"rulesets/{name}", resolve(name).digest) for name in preset_names()]
        assert not token


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ruleset": "nope"}, "unknown preset 'nope'"),
        ({"hand": []}, "hand: 1 to 39 cards, here 0"),
        ({"hand": [1] * 40}, "hand: 1 to 39 cards, here 40"),
        ({"hand": [999]}, "999"),
        ({"hand": [0x39] * 3}, "hand: more copies of a card than 2 packs hold"),
        ({"level": 0}, "trump.level is missing"),
        ({"trump": None}, "trump.suit is missing"),
        ({"level": 99}, "trump"),
        ({"suit": 99}, "trump"),
        ({"overrides": {"stage": "x"}}, "overrides: a value is no JSON"),
        ({"overrides": {"stages": "1"}}, "unknown ruleset key 'stages'"),
        ({"overrides": {"stage": "[" * 5000}}, "overrides: a value is no JSON"),
        ({"plays": 4}, "trick: 0 to 3 plays, here 4"),
        ({"lead": [999]}, "999"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_bad_situation_is_refused_by_its_field(change, message):
    asked = situation({"ruleset": "ming_chao", "trump": "S", "level": "2", "hand": "H9 H8"})
    if "ruleset" in change:
        asked.ruleset = change["ruleset"]
    if "hand" in change:
        del asked.hand[:]
        asked.hand.extend(change["hand"])
    if "trump" in change:
        asked.ClearField("trump")
    if "level" in change:
        asked.trump.level = change["level"]
    if "suit" in change:
        asked.trump.suit = change["suit"]
    for key, value in change.get("overrides", {}).items():
        asked.overrides[key] = value
    for _ in range(change.get("plays", 0)):
        asked.trick.add(cards=cards("H9"))
    if "lead" in change:
        asked.trick.add(cards=change["lead"])
    async with rules_service() as rules:
        for call in (
            rules.CheckPlay(rules_pb2.CheckPlayRequest(situation=asked, cards=cards("H9")), metadata=BEARER),
            rules.ListLegalPlays(rules_pb2.ListLegalPlaysRequest(situation=asked), metadata=BEARER),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert message in refused.value.details()


@pytest.mark.parametrize("question", ["no", "[]", "[" * 5000, '"' + "x" * 64_000 + '"'], ids=len)
async def test_a_question_that_is_no_object_is_refused(question):
    async with rules_service() as rules:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await rules.Judge(rules_pb2.JudgeRequest(question_json=question), metadata=BEARER)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_without_a_token_no_rule_is_told():
    async with rules_service() as rules:
        for call in (
            rules.ListRulesets(rules_pb2.ListRulesetsRequest()),
            rules.Judge(rules_pb2.JudgeRequest(question_json="{}")),
            rules.CheckPlay(rules_pb2.CheckPlayRequest()),
            rules.ListLegalPlays(rules_pb2.ListLegalPlaysRequest()),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call
            assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
