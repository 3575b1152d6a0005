"""A record as text for people: hands, showings, buryings, and one line a trick."""

from collections.abc import Iterator

from chaodipi.engine.cards import SEATS, format_cards
from chaodipi.engine.deal import Deal
from chaodipi.engine.events import (
    Booked,
    BottomTaken,
    Buried,
    CardsReturned,
    DealEnded,
    Event,
    Played,
    Shown,
    TrickEnded,
    TrumpRevealed,
)
from chaodipi.service.boards.board import Board
from chaodipi.service.records.verify import Record, replayed

__all__ = ["show"]


def show(record: Record) -> Iterator[str]:
    """The lines of a readable replay; EngineError if its ruleset cannot be played."""
    header, result = record.header, record.result
    ruleset = record.ruleset()
    board = record.board(ruleset)
    yield f"table    {header['table']}"
    yield f"ruleset  {ruleset.name} {ruleset.digest[:12]}"
    yield "seats    " + "  ".join(f"{seat}: {bot}" for seat, bot in enumerate(header["bots"]))
    laps = [f" of lap {lap}" for lap in board.laps] if ruleset.laps > 1 else ["", ""]
    yield f"levels   02: {header['levels'][0]}{laps[0]}  13: {header['levels'][1]}{laps[1]}" + (
        "  first deal" if board.first_deal else ""
    )
    yield from _deals(record, board)
    if result["how"] == "forfeit":
        yield f"result   forfeit by seat {result['forfeiting_seat']}"
    else:
        yield f"result   {result['how']}, catchers {result['score']}"
    settlement = result["settlement"]
    if settlement:
        steps = settlement["steps"]
        yield f"         on stage next: {settlement['stage']}, steps {steps[0]} : {steps[1]}"
        if "payout" in settlement:
            yield "         each player is paid: dealer side {:+d}, catchers {:+d}".format(*settlement["payout"])
    for seat, kinds in result["faults"].items():
        yield f"faults   seat {seat}: " + ", ".join(f"{kind} {count}" for kind, count in kinds.items())


def _deals(record: Record, board: Board) -> Iterator[str]:
    shuffle = -1
    for step in replayed(record, board):
        deal = step.deal
        if deal.setup.redeals != shuffle:
            shuffle = deal.setup.redeals
            yield from _cards(deal)
        if step.mismatch is not None:
            yield f"STOP     {step.mismatch}"
            return
        if step.decision.get("refused"):
            action = step.decision["action"]
            yield f"refused  seat {step.decision['seat']}: {action['kind']} {action.get('cards', '')}".rstrip()
        note = f"  [{step.decision['fault']}]" if "fault" in step.decision else ""
        note += "  [by the host]" if step.decision.get("by_host") else ""
        for event in step.events:
            yield from _event(deal, event, note)


def _cards(deal: Deal) -> Iterator[str]:
    setup = deal.setup
    yield f"shuffle  {setup.redeals}: first drawer {setup.first_drawer}"
    count = 4 * setup.hand
    for seat in SEATS:
        drawn = setup.cards[(seat - setup.first_drawer) % 4 : count : 4]
        yield f"hand {seat}   {format_cards(sorted(drawn))}"
    if setup.bottom:
        yield f"bottom   {format_cards(setup.cards[count:])}"


def _event(deal: Deal, event: Event, note: str) -> Iterator[str]:
    if isinstance(event, Shown):
        named = f" naming {event.named.letter}" if event.named is not None else ""
        yield f"show     seat {event.seat} {event.kind}: {format_cards(event.cards)}{named}{note}"
    elif isinstance(event, BottomTaken):
        yield f"bottom   taken by seat {event.seat}"
    elif isinstance(event, Buried):
        yield f"bury     seat {event.seat}: {format_cards(event.cards)}{note}"
    elif isinstance(event, TrumpRevealed):
        yield f"reveal   trump {event.trump.letter}"
    elif isinstance(event, Booked):
        yield f"booked   {event.points:+d} for seat {event.seat}, {event.kind}"
    elif isinstance(event, CardsReturned):
        for seat, cards in event.returned:
            yield f"return   seat {seat}: {format_cards(cards)}"
    elif isinstance(event, Played):
        if note:
            yield f"         seat {event.seat}: {format_cards(event.cards)}{note}"
    elif isinstance(event, TrickEnded):
        trick = deal.view.tricks[-1] if deal.view.tricks else None
        if trick is not None:
            plays = "   ".join(
                f"{play.seat}:{'*' if play.seat == trick.winner else ' '}{format_cards(play.cards)}"
                for play in trick.plays
            )
            yield f"trick {len(deal.view.tricks):2d} {plays}   ({trick.points})"
    elif isinstance(event, DealEnded) and event.how == "played":
        yield f"end      dig {event.dig_points} (times {event.dig_multiplier}), score {event.score}"
