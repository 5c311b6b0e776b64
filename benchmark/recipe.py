"""
The README's recipe on each driver: python benchmark/recipe.py [PROFILE ...].

A simulated driver (test/nodes/simulated_driver.py) publishes what franka_ros2, ur_robot_driver
and lbr_fri_ros2_stack publish; the nodes are started as robot.launch.py starts them, with the
configuration of the package.  Design, check, play, record, identify, predict; prints what each
step answers.  About two minutes a profile on an idle machine.
"""

from pathlib import Path
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'nodes')]
from driver_profiles import PROFILES  # noqa: E402
from driver_recipe import Recipe  # noqa: E402
from live_graph import Graph  # noqa: E402

from ros_inertial_id.measurement.bags.bag import read_bag  # noqa: E402


def cook(name):
    """Go through the recipe of a profile; print what happens."""
    with tempfile.TemporaryDirectory() as folder, Graph(Path(folder)) as graph:
        recipe = Recipe(graph, Path(folder), name, ROOT / 'urdf' / 'franka.urdf',
                        ROOT / 'config' / f'{name}.yaml')
        began = time.monotonic()

        def say(words):
            print(f'{name} {time.monotonic() - began:6.1f} s  {words}', flush=True)

        recipe.design('--seconds', '20')
        say('designed')
        recipe.drive()
        recipe.launch()
        say(f'check: {recipe.ready().message}')
        status = recipe.play()
        say(f'play: {status}')
        if status.startswith('finished'):
            evaluate(graph, recipe, say)
        say(f'driver: {graph.health(f"{recipe.namespace}simulated_robot")}')


def evaluate(graph, recipe, say):
    """Say what is in the bag of a ``recipe``, what is identified and how well it predicts."""
    bag = read_bag(next((graph.folder / 'bags').glob('2*')))
    for topic, channel in bag.channels.items():
        say(f'bag: {topic} {len(channel)} messages, {" ".join(channel.names)}')
    answer = recipe.identify()
    say(f'identify: {answer.message}')
    if answer.success:
        status, shares = recipe.predicted_error()
        say(f'play: {status}')
        say(f'live residual / torque of each joint: {shares}')


if __name__ == '__main__':
    for profile in sys.argv[1:] or PROFILES:
        cook(profile)
