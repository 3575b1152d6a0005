"""Whether the pairs and standings of ``results.json`` are those that the records make.

Every record is checked by itself before (:func:`chaodipi.service.records.verify.verify`); here its result is taken at
its word, and pairs, margins and standings are made from it again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chaodipi.engine.cards import Rank, Seat, Side
from chaodipi.engine.ruleset import Ruleset
from chaodipi.service.boards.board import Secrets
from chaodipi.service.records.record import level_from_text
from chaodipi.service.records.verify import Record
from chaodipi.service.scheduler.margins import margin
from chaodipi.service.scheduler.schedule import Entry, Pair, Plan, round_robin
from chaodipi.service.scheduler.standings import PairOutcome, standings

__all__ = ["recheck"]


@dataclass(frozen=True, slots=True)
class _Settled:
    score: int
    steps: tuple[int, int]
    stage: Side


@dataclass(frozen=True, slots=True)
class _Ended:
    """A table by its record."""

    table_id: str
    how: str
    dealer: Seat | None
    settlement: _Settled | None
    levels: tuple[Rank | None, Rank | None]
    forfeiting_side: Side | None

    @classmethod
    def of(cls, record: Record) -> "_Ended":
        header, result = record.header, record.result
        said = result["settlement"]
        one, two = header["levels"]
        dealer, forfeiting = result["dealer"], result["forfeiting_seat"]
        return cls(
            table_id=header["table"],
            how=result["how"],
            dealer=None if dealer is None else Seat(dealer),
            settlement=None if said is None else _Settled(said["score"], tuple(said["steps"]), _side(said["stage"])),
            levels=(level_from_text(one), level_from_text(two)),
            forfeiting_side=None if forfeiting is None else Seat(forfeiting).side,
        )


def recheck(results: Mapping[str, Any], records: Mapping[str, Record]) -> Iterator[str]:
    """
    What does not match between *results*, a ``results.json``, and *records* by table id; nothing if all does.

    Records of pairs that it does not count are passed over: a league that goes on has them. The clock's part,
    ``timing``, is nobody's to check.

    Raises:
        KeyError, TypeError, ValueError, IndexError, AttributeError: a field of *results* is missing or of the wrong
            type.
    """
    plan = _plan(results, next(iter(records.values())).ruleset())
    told = {pair["number"]: pair for pair in results["pairs"]}
    if results["ruleset"]["name"] != plan.ruleset.name:
        yield f"ruleset: {results['ruleset']['name']}; by the records {plan.ruleset.name}"
    yield from _count_faults(results, plan, told)
    for pair in round_robin(plan):
        said = told.pop(pair.number, None)
        if said is not None:
            yield from _pair_faults(pair, said, records, plan.ruleset)
    for number in sorted(told):
        yield f"pair {number}: the schedule has no such pair"
    yield from _standing_faults(results, [entry.name for entry in plan.entries])


def _plan(results: Mapping[str, Any], ruleset: Ruleset) -> Plan:
    entries = tuple(Entry(entry["name"], (entry["bots"][0], entry["bots"][1])) for entry in results["entries"])
    secrets = Secrets(bytes.fromhex(results["seed"] or ""), tuple(map(bytes.fromhex, results["nonces"] or ())))
    boards, shared = results["boards_per_pairing"], results["shared_boards"]
    return Plan(results["league"], ruleset, entries, boards, secrets, shared=shared)


def _count_faults(results: Mapping[str, Any], plan: Plan, told: Mapping[int, Any]) -> Iterator[str]:
    if [pair["number"] for pair in results["pairs"]] != sorted(told):
        yield "pairs: not each once, in the order of their numbers"
    if any(len(entry["bots"]) != 2 for entry in results["entries"]):
        yield "entries: one has not two bots"
    if results["tables"] != 2 * len(told):
        yield f"tables: {results['tables']}, but there are {len(told)} pairs"
    complete = len(told) == plan.pair_count
    if results["complete"] != complete:
        yield f"complete: {results['complete']}, with {len(told)} of {plan.pair_count} pairs"
    both = sorted(told.keys() & {pair["number"] for pair in results["missing"]})
    if both:
        yield f"missing: pair {both[0]} is there"


def _pair_faults(pair: Pair, said: Mapping[str, Any], records: Mapping[str, Record], ruleset: Ruleset) -> Iterator[str]:
    absent = [spec.table_id for spec in pair.tables if spec.table_id not in records]
    if absent:
        yield f"pair {pair.number}: no record of {absent[0]} here"
        return
    both = [records[spec.table_id] for spec in pair.tables]
    for spec, record in zip(pair.tables, both, strict=True):
        if tuple(record.header["bots"]) != spec.bots:
            yield f"pair {pair.number}: bots {record.header['bots']} at {spec.table_id}, by the schedule {spec.bots}"
    try:
        made = _outcome(pair, both, ruleset).as_json()
    except ValueError as error:
        yield f"pair {pair.number}: {error}"
        return
    for field in sorted(made.keys() | said.keys()):
        value = made.get(field)
        if said[field] != value:
            yield f"pair {pair.number}: {field} {said[field]}; by the records {value}"


def _outcome(pair: Pair, both: list[Record], ruleset: Ruleset) -> PairOutcome:
    one, two = map(_Ended.of, both)
    sides = {pair.first: (Side.SIDE_02, Side.SIDE_13), pair.second: (Side.SIDE_13, Side.SIDE_02)}
    return PairOutcome(
        number=pair.number,
        first=pair.first,
        second=pair.second,
        margins=(margin(ruleset, one, Side.SIDE_02), margin(ruleset, two, Side.SIDE_13)),
        faults={name: _faults(both[0], a) + _faults(both[1], b) for name, (a, b) in sides.items()},
        forfeits=Counter(
            name
            for name, at in sides.items()
            for ended, side in zip((one, two), at, strict=True)
            if ended.forfeiting_side == side
        ),
        decisions=sum(record.result["decisions"] for record in both),
    )


def _faults(record: Record, side: Side) -> Counter[str]:
    booked: Counter[str] = Counter()
    for seat, kinds in record.result["faults"].items():
        if Seat(int(seat)).side == side:
            booked.update(kinds)
    return booked


def _standing_faults(results: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    made = standings(names, [PairOutcome.from_json(pair) for pair in results["pairs"]], results["rank_by"])
    told = {line["entry"]: line for line in results["standings"]}
    if [line["entry"] for line in results["standings"]] != [line.entry for line in made]:
        yield f"standings: {', '.join(told)}; by the pairs {', '.join(line.entry for line in made)}"
    for line in made:
        again, said = line.as_json(), told.get(line.entry, {})
        for field in sorted(again.keys() | said.keys() if said else ()):
            value = again.get(field)
            if said[field] != value:
                yield f"standings: {line.entry}: {field} {said[field]}; by the pairs {value}"


def _side(text: str) -> Side:
    return {"02": Side.SIDE_02, "13": Side.SIDE_13}[text]
