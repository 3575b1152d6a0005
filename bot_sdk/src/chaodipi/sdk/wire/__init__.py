"""Engine values to protocol messages and back: cards, seats, actions, events, snapshots.

Cards are the same numbers on both sides; seats and sides are one higher on the wire, where 0
means unset. ``event_from_wire(event_to_wire(event)) == event`` for every event as its receiver
may know it.
"""

from chaodipi.sdk.wire.events import event_from_wire, event_to_wire, payouts_of_seats
from chaodipi.sdk.wire.snapshots import snapshot_from_view, view_from_snapshot
from chaodipi.sdk.wire.values import (
    action_from_wire,
    action_to_wire,
    cards_from_wire,
    choice_set_to_wire,
    position_to_wire,
    seat_from_wire,
    seat_to_wire,
    side_from_wire,
    side_to_wire,
)

__all__ = [
    "action_from_wire",
    "action_to_wire",
    "cards_from_wire",
    "choice_set_to_wire",
    "event_from_wire",
    "event_to_wire",
    "payouts_of_seats",
    "position_to_wire",
    "seat_from_wire",
    "seat_to_wire",
    "side_from_wire",
    "side_to_wire",
    "snapshot_from_view",
    "view_from_snapshot",
]
