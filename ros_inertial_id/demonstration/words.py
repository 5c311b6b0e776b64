"""Words: the numbers of a demonstration as sentences for the person who watched it."""

from collections.abc import Mapping
from typing import Any

SCHEMA = 'ros_inertial_id/demo/1'  # of --json
LEAP = 1.2  # times the plan's largest acceleration, above which late commands were caught up


def sentences(result: Mapping[str, Any]) -> list[str]:
    """
    Return what a demonstration has shown, one sentence per item.

    result : of ``demonstrate`` or ``demonstrate_rig``
    """
    parts, count = result['within_3_standard_errors'], result['base_parameters']
    out = [_recorded(result['published'], result['recorded']),
           f'{round(parts * count)} of {count} identified base parameters lie within three '
           'standard errors of the truth.']
    if 'largest_acceleration_over_plan' in result:
        ratio = result['largest_acceleration_over_plan']
        out.append(f"The arm's largest acceleration was {ratio:.2f} times that of its plan"
                   + ('.' if ratio <= LEAP else ': it leapt, please report this.'))
    if 'worst_error_percent' in result:
        out.append('The worst of those that matter is off by '
                   f"{result['worst_error_percent']:.2g} %.")
    if 'validation_relative_percent' in result:
        out.append('On the second motion, which took no part in the identification, the model '
                   f"misses {result['validation_relative_percent']:.2g} % of the measured torque.")
    live = result.get('torque_relative_percent', result.get('prediction_relative_percent'))
    if live is not None:
        out.append(f'Live, while the second motion ran, its prediction was within {live:.2g} % of '
                   'the true torque.')
    if 'condition_number' in result:
        out.append('The condition number of the first motion is '
                   f"{result['condition_number']:.3g}.")
    if 'real_time_factor' in result:
        out.append(f"It took {result['seconds']:.0f} s; while something moved, simulated time "
                   f"passed at {result['real_time_factor']:.2f} of real time.")
    return [*out, f"Look at {result['report']}; the model is {result['model']}."]


def _recorded(published: Any, recorded: Any) -> str:
    """Say how many messages were published and recorded, of one topic or of several."""
    if not isinstance(published, Mapping):
        published, recorded = {'joint states': published}, {'joint states': recorded}
    said = [f'{recorded[topic]} of {count} {topic}' for topic, count in published.items()]
    whole = all(recorded[topic] == count for topic, count in published.items())
    return f"Recorded {', '.join(said)}{': nothing was lost.' if whole else '.'}"
