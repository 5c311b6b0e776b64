"""
The player of motions as a state machine: its states, what may happen, and what it does then.

To be read beside "How a motion is played" in doc/nodes.md.  What stands in no row changes nothing:
a doubt about an arm that rests, or a second doubt, has nothing to stop.  One row alone leads into
PLAYING, and nothing is sent before; of those that lead out none leads back.
"""

from enum import auto, Enum
from typing import NamedTuple


class State(Enum):
    """What the player does with the arm."""

    IDLE = auto()  # nothing: off until asked
    PREPARING = auto()  # plans and rehearses a course, has a bag opened; sends nothing
    PLAYING = auto()  # sends a piece of the course every 0.04 s, each of which ends at rest
    ENDING = auto()  # sends nothing more; the arm comes to rest, then the bag is closed


class Event(Enum):
    """What may happen to it."""

    ASKED = auto()  # ~/play was called
    READY = auto()  # a bag is open, and the arm rests where the course begins
    PIECE_DUE = auto()  # nothing speaks against going on
    MESSAGES_DUE = auto()  # those that decide may be on their way, or are not read yet: it waits
    COURSE_OVER = auto()  # joint states of all of it have come
    DOUBT = auto()  # joint states, controller, computer or who calls ~/stop give reason to stop
    UNANSWERED = auto()  # goals are not accepted in time: the arm may brake already
    CLOSED = auto()  # the bag is closed, and ~/play answers


class Action(Enum):
    """What the player does as it changes its state."""

    NOTHING = auto()
    SEND_FIRST_PIECE = auto()  # on the robot's clock as it is now, and not before planning
    SEND_NEXT_PIECE = auto()
    STOP_SENDING = auto()  # the last piece ends at rest; what came late would make the arm leap
    WITHDRAW_LAST_PIECE = auto()  # which is not to be followed when it comes late
    SAY_THAT_IT_IS_FINISHED = auto()


class Step(NamedTuple):
    """The state that follows, and what is done on the way to it."""

    state: State
    action: Action


TRANSITIONS = {
    (State.IDLE, Event.ASKED): Step(State.PREPARING, Action.NOTHING),
    (State.PREPARING, Event.READY): Step(State.PLAYING, Action.SEND_FIRST_PIECE),
    (State.PREPARING, Event.CLOSED): Step(State.IDLE, Action.NOTHING),  # it was refused
    (State.PLAYING, Event.PIECE_DUE): Step(State.PLAYING, Action.SEND_NEXT_PIECE),
    (State.PLAYING, Event.MESSAGES_DUE): Step(State.PLAYING, Action.NOTHING),
    (State.PLAYING, Event.COURSE_OVER): Step(State.ENDING, Action.SAY_THAT_IT_IS_FINISHED),
    (State.PLAYING, Event.DOUBT): Step(State.ENDING, Action.STOP_SENDING),
    (State.PLAYING, Event.UNANSWERED): Step(State.ENDING, Action.WITHDRAW_LAST_PIECE),
    (State.ENDING, Event.CLOSED): Step(State.IDLE, Action.NOTHING),
}
