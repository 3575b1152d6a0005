"""The reasons for which the rules refuse an action: one table for errors, protocol and docs.

Append only; a reason never changes its meaning. ``docs/errors.md`` is checked against this table.
"""

REASONS: dict[str, str] = {
    "NOT_YOUR_TURN": "another seat is asked now",
    "WRONG_ACTION_KIND": "this kind of action is not allowed in this phase",
    "NOT_YOUR_CARDS": "a card named is not in the hand",
    "WRONG_CARD_COUNT": "the play has another number of cards than the lead",
    "MUST_FOLLOW_SUIT": "cards of the led class are in the hand and were not played",
    "MUST_PLAY_PAIR": "a pair was led and one of the led class is in the hand",
    "MUST_PLAY_TRIPLE": "a triple was led and one of the led class is in the hand",
    "MUST_PLAY_TRACTOR": "a tractor was led and one of the led class is in the hand",
    "MUST_PLAY_510K": "a 510K was led and the same pattern of that class is in the hand",
    "MUST_PLAY_STRONGEST": "a trump 510K was led: the strongest trumps must be played",
    "NOT_ONE_CLASS": "a lead has cards of one class only",
    "THROW_NOT_ALLOWED": "no throw may be led now",
    "BURY_COUNT": "another number of cards must be buried",
    "BURY_SHOWN": "the led or placed card cannot be buried",
    "NOT_A_SHOWING": "these cards cannot be shown to name a trump",
    "DECLARATION_TOO_WEAK": "the showing is not higher than the one that stands",
    "OVERCALL_CLOSED": "of self-protect, overcall and self-overcall one has already happened",
    "NOT_ALLOWED_TO_SHOW": "this seat may not show now",
    "LOOKING_BACK_NOT_ALLOWED": "looking back needs one's own single first declaration, overcalled since",
    "CARDS_ALREADY_SHOWN": "these cards were shown before and cannot be shown again",
    "NAMED_TRUMP_MISSING": "these cards leave the trump open: name it",
    "NAMED_TRUMP_NOT_ALLOWED": "these cards fix the trump: it cannot be named",
    "TOO_FEW_TRUMPS": "too few trumps in the hand for this showing",
    "STIR_CLOSED": "no stirring in this deal, or not any more",
    "NO_BOTTOM": "this deal has no bottom",
    "DEAL_OVER": "the deal has ended",
}
"""Reason → what it means, in one clause."""
