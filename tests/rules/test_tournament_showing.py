"""Calling, placing, correcting and stirring in the two tournaments, beside what the golden positions show."""

import random

import pytest
from chaodipi.engine import (
    Bury,
    Deal,
    Game,
    Pass,
    Phase,
    Rank,
    RuleError,
    Seat,
    Setup,
    Show,
    Side,
    Suit,
    deck,
    legal_shows,
    parse_cards,
    resolve,
)

DARK, TIMED = resolve("t_dark"), resolve("t_timed")
SEVEN = (Rank.SEVEN, Rank.SEVEN)
BOTTOM = parse_cards("C3 C3 D3 D3 C4 C4 D4 D4")
FILL = parse_cards("H3 H4 H5 H8 HT HJ HQ HK HA S3 S4 S5 S8 ST SJ SQ SK SA C5 C8 CT")


def _stacked(preset: str, hands: dict[int, str], *, first: bool = False, dealer: int | None = None, drawer: int = 0):
    """A deal at level 7 (first deals: 2) with 02 on stage in later ones, up to the close of the window."""
    return Deal.from_position(
        resolve(preset),
        {seat: parse_cards(hands.get(int(seat), "")) for seat in Seat},
        bottom=BOTTOM,
        dealer=None if dealer is None else Seat(dealer),
        levels=(Rank.TWO, Rank.TWO) if first else SEVEN,
        on_stage=None if first else Side.SIDE_02,
        first_deal=first,
        first_drawer=Seat(drawer),
    )


def _show(deal: Deal, seat: int, text: str) -> str:
    """The reason for which the showing is refused, "" if it is not."""
    show = Show(parse_cards(text))
    listed = show in legal_shows(deal.view, Seat(seat))
    assert listed == (show in legal_shows(deal.observation(Seat(seat)), Seat(seat)))
    try:
        deal.act(Seat(seat), show)
    except RuleError as error:
        assert not listed
        return error.reason
    assert listed
    return ""


@pytest.mark.parametrize("preset", ["t_dark", "t_timed"])
def test_in_a_first_deal_the_last_overcaller_deals(preset: str) -> None:
    """Again and again, by anybody but the caller, with pairs of 2s; who stands does not overcall himself (S3-10)."""
    deal = _stacked(preset, {0: "H2 D2 D2", 1: "S2 S2 bj bj", 2: "C2 C2"}, first=True)

    assert _show(deal, 0, "D2 D2") == "NOT_A_SHOWING"  # the first is one dark 2
    assert _show(deal, 0, "H2") == ""
    assert _show(deal, 1, "S2") == "DECLARATION_TOO_WEAK"
    assert _show(deal, 1, "bj bj") == "NOT_A_SHOWING"
    assert _show(deal, 1, "S2 S2") == ""
    assert _show(deal, 0, "D2 D2") == "NOT_ALLOWED_TO_SHOW"
    assert _show(deal, 1, "S2 S2") == "NOT_ALLOWED_TO_SHOW"
    assert _show(deal, 2, "C2 C2") == ""
    deal.close()

    assert (deal.view.dealer, deal.view.caller, deal.view.trump) == (Seat.S2, Seat.S2, Suit.CLUBS)


def test_later_a_dark_dealer_overcalls_once_if_he_is_not_the_caller() -> None:
    """S3-08, Q29."""
    deal = _stacked("t_dark", {0: "S7 S7 bj bj", 1: "C7", 2: "rj rj", 3: "D7 D7"}, dealer=0)
    assert _show(deal, 0, "S7 S7") == "NOT_A_SHOWING"  # he too calls with one card
    assert _show(deal, 1, "C7") == ""
    assert _show(deal, 3, "D7 D7") == "NOT_ALLOWED_TO_SHOW"
    assert _show(deal, 0, "bj bj") == ""
    assert _show(deal, 0, "S7 S7") == "OVERCALL_CLOSED"
    deal.close()
    assert (deal.view.dealer, deal.view.caller) == (Seat.S0, Seat.S0)

    own = _stacked("t_dark", {0: "S7 S7 H7"}, dealer=0)
    assert _show(own, 0, "H7") == ""
    assert _show(own, 0, "S7 S7") == "NOT_ALLOWED_TO_SHOW"


def test_one_correction_a_deal_by_players_on_stage() -> None:
    """Over a placing, the placer's partner too; or at once, and then nobody places any more (Q104)."""
    over = _stacked("t_timed", {0: "C7", 2: "S7 S7", 3: "D7 D7"})
    assert _show(over, 0, "C7") == ""
    assert _show(over, 3, "D7 D7") == "NOT_ALLOWED_TO_SHOW"
    assert _show(over, 2, "S7 S7") == ""
    assert _show(over, 0, "C7") == "OVERCALL_CLOSED"
    over.close()
    assert (over.view.dealer, over.view.trump) == (Seat.S2, Suit.SPADES)

    direct = _stacked("t_timed", {1: "bj bj", 2: "S7 S7", 0: "rj rj"})
    assert _show(direct, 1, "bj bj") == "NOT_A_SHOWING"  # off stage: one level card
    assert _show(direct, 2, "S7 S7") == ""
    assert _show(direct, 0, "rj rj") == "OVERCALL_CLOSED"
    direct.close()
    assert (direct.view.dealer, direct.view.trump) == (Seat.S2, Suit.SPADES)
    assert direct.observation(Seat.S0).trump is None


def _placed(hands: dict[int, str]) -> Deal:
    """Seat 1, off stage, placed H7; seat 2 deals by it and has buried the bottom."""
    deal = _stacked("t_timed", hands)
    deal.act(Seat.S1, Show(parse_cards("H7")))
    deal.close()
    deal.act(Seat.S2, Bury(BOTTOM))
    return deal


def test_the_placer_completes_his_pair_after_another_stir_only() -> None:
    """S4-30, Q115; until a third seat has stirred he is passed over like the dealer (Q39)."""
    deal = _placed({1: "H7 H7", 3: "S7 S7"})
    assert deal.view.barred == {Seat.S1, Seat.S2}
    assert _show(deal, 3, "S7 S7") == ""
    deal.act(Seat.S3, Bury(BOTTOM))
    deal.act(Seat.S0, Pass())
    assert _show(deal, 1, "H7 H7") == ""

    # Corrected by the dealer, the placer is not barred any more; his placed card is bound all the same.
    other = _stacked("t_timed", {1: "H7 H7 C7 C7", 0: "S7 S7", 3: "rj rj"})
    other.act(Seat.S1, Show(parse_cards("H7")))
    other.act(Seat.S0, Show(parse_cards("S7 S7")))
    other.close()
    other.act(Seat.S0, Bury(BOTTOM))
    assert other.view.barred == {Seat.S0}
    assert _show(other, 1, "H7 H7") == "NOT_ALLOWED_TO_SHOW"
    assert _show(other, 1, "C7 C7") == ""


def test_a_placed_card_lies_on_the_table_until_the_reveal() -> None:
    """It cannot be buried, also not by default; after the reveal it is played like any other (Q113)."""
    deal = _stacked("t_timed", {0: "H7 H7 " + " ".join(card.text for card in FILL)})
    deal.act(Seat.S0, Show(parse_cards("H7")))
    deal.close()
    assert deal.view.can_bury(Seat.S0).count(parse_cards("H7")[0]) == 1
    assert deal.observation(Seat.S0).can_bury(Seat.S0) == deal.view.can_bury(Seat.S0)
    with pytest.raises(RuleError) as refusal:
        deal.act(Seat.S0, Bury((*parse_cards("H7 H7"), *BOTTOM[:6])))
    assert refusal.value.reason == "BURY_SHOWN"
    deal.act(Seat.S0, Bury((*parse_cards("H7"), *BOTTOM[:7])))
    for seat in (Seat.S1, Seat.S3):  # seat 2 holds nothing, but is asked all the same
        if deal.to_act == seat:
            deal.act(seat, Pass())
    while deal.phase == Phase.STIR:
        assert deal.to_act is not None
        deal.act(deal.to_act, Pass())
    deal.play(Seat.S0, parse_cards("H7"))


def test_what_was_buried_is_not_shown_again_in_t_timed() -> None:
    """S4-24, Q48: the host remembers it, the burier has to; the end shows it to all."""
    timed, dark = _placed({1: "H7", 3: "S7 S7"}), _stacked("t_dark", {1: "H7"}, dealer=2)
    dark.act(Seat.S1, Show(parse_cards("H7")))
    dark.close()
    dark.act(Seat.S2, Bury(BOTTOM))

    assert timed.observation(Seat.S2).bottom is None
    assert timed.view.bottom == dark.observation(Seat.S2).bottom == tuple(sorted(BOTTOM))


@pytest.mark.parametrize(
    ("bottom", "dealer", "trump", "turned"),
    [
        ("bj H3 S7 C7 C3 D3 D4 D4", 0, "S", 3),  # jokers do not decide (S4-34)
        ("bj H3 SK CK C3 D3 D4 D4", 0, "S", 8),  # the highest face, the earlier of two kings
        ("rj rj bj bj C3 D3 D4 C4", 0, "D", 8),
    ],
)
@pytest.mark.parametrize("preset", ["t_dark", "t_timed"])
def test_nobody_called_in_a_later_deal(preset: str, bottom: str, dealer: int, trump: str, turned: int) -> None:
    """The dealer, or where placing would decide the first drawer, deals; nobody stirs (S4-33 to S4-36, Q91)."""
    deal = Deal.from_position(
        resolve(preset),
        {seat: FILL if seat == dealer else () for seat in Seat},
        bottom=parse_cards(bottom),
        dealer=Seat(dealer) if preset == "t_dark" else None,
        levels=SEVEN,
        on_stage=Side.SIDE_02,
        first_drawer=Seat(dealer),
    )
    deal.close()

    assert (deal.view.dealer, deal.view.trump, len(deal.view.turned)) == (Seat(dealer), Suit.parse(trump), turned)
    deal.act(Seat(dealer), deal.default_action(Seat(dealer)))
    assert (deal.phase, deal.view.asked) == (Phase.LEAD, [])


def test_partners_on_stage_draw_first_in_turns_where_placing_decides() -> None:
    """S4-13, S4-19, Q92: whoever dealt; after a change of stage the seat after the dealer."""
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    game = Game(TIMED)
    last: Setup | None = None
    stage: Side | None = None

    while not game.over and game.deals < 40:
        cards = list(deck(2))
        rng.shuffle(cards)
        setup = game.setup(cards, Seat(rng.randrange(4)))
        assert setup.dealer is None
        assert setup.on_stage == stage
        deal = Deal(setup)
        while (seat := deal.to_act) is not None:
            shows = deal.legal_actions(seat).shows
            deal.act(seat, rng.choice(shows) if shows and rng.random() < 0.5 else deal.default_action(seat))
        dealer = deal.view.dealer
        assert dealer is not None
        if stage is not None:
            assert dealer.side == stage == setup.first_drawer.side
        done = game.finish(deal)
        assert done is not None
        if last is not None and last.on_stage == setup.on_stage:
            assert setup.first_drawer == last.first_drawer.partner
        assert done.next_dealer is None
        last, stage = setup, done.stage
