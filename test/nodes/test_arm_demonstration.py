"""The main job of the README on a small arm: play, record, identify, predict live, report."""

import json

from arm_recordings import ARM, random_arm_motion
from stage import RATE, write_motion
from test_rig_demonstrations import nodes_of, PATIENCE

from ros_inertial_id.demonstration.demo import sentences

# What ``inertial-id demo`` does once it has designed its motions of 20 s: here are shorter ones.
# The arm costs less to compute, and its efforts forgive commands that a busy computer delays.
PROGRAM = """
import json
from pathlib import Path
import rclpy
from ros_inertial_id.demonstration import demo as module
from ros_inertial_id.demonstration.demo import Demo, demonstrate_motions
from ros_inertial_id.identification.identified_model import plain

module.ARM_RATE = {rate}
rclpy.init()
demo = Demo(Path({out!r}))
try:
    result = demonstrate_motions(demo, Path({arm!r}), tuple(map(Path, {motions!r})))
finally:
    demo.stop()
rclpy.shutdown()
Path({out!r}, 'result.json').write_text(json.dumps(plain(result)))
"""
PERIOD = 4.0  # [s] of a motion


def test_an_arm_is_identified_from_what_is_played_and_predicted_live(graph, tmp_path):
    motions = [
        write_motion(tmp_path / f'{seed}.yaml', random_arm_motion(seed, PERIOD, share=0.5))
        for seed in (5, 6)
    ]
    out = tmp_path / 'demo'
    out.mkdir()
    program = PROGRAM.format(out=str(out), arm=str(ARM), motions=motions, rate=RATE)
    demo = graph.python(program)
    graph.spin(PATIENCE, lambda: not demo.alive())
    assert demo.wait() == 0, demo.output
    result = json.loads((out / 'result.json').read_text())
    # All, with the way there.
    assert result['recorded'] == result['published'] > PERIOD * RATE
    # Of ten numbers one is beyond three standard errors in a run of forty.
    assert result['within_3_standard_errors'] >= 1.0 - 1.5 / result['base_parameters']
    assert result['validation_relative_percent'] < 2.0  # the noise is 1 %
    assert result['torque_relative_percent'] < 2.0  # the live filter ends where its lag does
    said = sentences(result)  # the last that the README's command prints
    assert f'{result["torque_relative_percent"]:.2g} % of the true torque' in ' '.join(said)
    assert '<html' in (out / 'report.html').read_text()
    assert nodes_of(tmp_path) == []
