"""The table of the player: what leads to a motion, and that whatever happens leads out of it."""

from ros_inertial_id.nodes.player_states import Action, Event, State, Step, TRANSITIONS


def steps(state):
    """Return {event: Step} of a state."""
    return {event: step for (at, event), step in TRANSITIONS.items() if at is state}


def test_it_is_off_until_asked_and_until_the_bag_is_open():
    before = {key for key, step in TRANSITIONS.items() if step.state is State.PLAYING}
    assert {key for key in before if key[0] is not State.PLAYING} == {
        (State.PREPARING, Event.READY)
    }
    assert steps(State.IDLE) == {Event.ASKED: Step(State.PREPARING, Action.NOTHING)}


def test_nothing_is_sent_but_in_a_motion():
    sends = Action.SEND_NEXT_PIECE
    assert {state for (state, _), step in TRANSITIONS.items() if step.action is sends} == {
        State.PLAYING
    }
    assert {step.action for step in steps(State.ENDING).values()} == {Action.NOTHING}


def test_every_doubt_ends_a_motion_for_good():
    goes_on = {Event.PIECE_DUE, Event.MESSAGES_DUE}
    for event, step in steps(State.PLAYING).items():
        assert (step.state is State.PLAYING) == (event in goes_on)
    assert set(steps(State.PLAYING)) == set(Event) - {Event.ASKED, Event.READY, Event.CLOSED}
    assert steps(State.ENDING) == {Event.CLOSED: Step(State.IDLE, Action.NOTHING)}


def test_only_what_may_be_followed_is_sent():
    playing = steps(State.PLAYING)
    assert playing[Event.DOUBT].action is Action.STOP_SENDING
    assert playing[Event.UNANSWERED].action is Action.WITHDRAW_LAST_PIECE
