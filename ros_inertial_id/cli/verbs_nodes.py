"""The verbs that start other processes: demo and watch, which need ROS, and open, a browser."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..processes import start


def demo(options: Any) -> int:
    """Run the demonstration; return its exit status."""
    words = ['--out', options.out, '--robot', options.robot, '--rig', options.rig]
    if options.seconds:
        words += ['--seconds', str(options.seconds)]
    if options.json:
        words.append('--json')
    return _run('the demonstration', 'demonstration.demo', ('mujoco', 'rclpy'), words)


def watch(options: Any) -> int:
    """Serve the live page until Ctrl-C; return the exit status."""
    words = ['--ros-args', '-p', f'port:={options.port}']
    if options.namespace:
        words += ['-r', '__ns:=/' + options.namespace.strip('/')]
    return _run('the live page', 'nodes.watch', ('rclpy', 'jinja2'), words)


def open_(options: Any) -> None:
    """Show the page of a result in the browser."""
    import webbrowser

    path = Path(options.result)
    if not path.exists():
        raise ConfigError(f'{path} does not exist', expected='the folder of a result, or a page')
    pages = [path]
    if path.is_dir():
        pages = sorted(path.glob('*.html'))
    pages = [page for page in pages if page.is_file()]
    if len(pages) != 1:
        raise ConfigError(
            f'{path} is no page',
            expected='a page, or a folder with one',
            found=[page.name for page in pages],
        )
    print(pages[0])
    webbrowser.open(pages[0].resolve().as_uri())


def _run(what: str, module: str, needs: Sequence[str], words: Sequence[str]) -> int:
    """Run a module of this package with its own command line; return its exit status."""
    missing = [name for name in needs if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f'{what} needs {" and ".join(needs)}',
            found=f'no {", ".join(missing)}',
            do="pip install '.[ros,sim]', or source the setup file of ROS 2",
        )
    process = start(module, words)
    status = None
    while status is None:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue  # the other process got the same signal and ends in its own order
    if status < 0:
        return 128 - status  # of a signal, as shells have it
    return status
