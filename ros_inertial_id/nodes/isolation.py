"""
Isolation of a demonstration: a ROS domain and a namespace in which nobody else is.

A simulated arm has the topics and joint names of a real one, and a real controller that hears its
motion moves.  So a demonstration never works where the environment says, but in a domain of its
own on this computer, whose ports nobody has and in which it has listened before.
"""

from collections.abc import Iterator
from itertools import islice
import os
import random
import socket
import time

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from ..errors import ConfigError

NAMESPACE = '/inertial_id_demo'
DOMAINS = range(1, 102)  # above, the ports of DDS are those that Linux gives to other programs
PORTS, FIRST = 250, 7400  # UDP ports of a domain, from the first one of domain 0 on (RTPS 9.6.1)
DOMAINS_TRIED = 5  # domains without such ports, at random
LISTENS = 2.0  # [s] in each: nodes of one computer find one another in less
REMOTE = ('ROS_STATIC_PEERS', 'ROS_DISCOVERY_SERVER', 'ROS_LOCALHOST_ONLY')


def isolate() -> str:
    """
    Let this process and its children use a free domain of this computer alone.

    Returns what to put before a command of ros2 that shall see it.
    ConfigError where somebody is in every domain that was tried.
    """
    for name in REMOTE:
        os.environ.pop(name, None)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    taken = []
    free = (d for d in random.sample(DOMAINS, len(DOMAINS)) if _ports_are_free(d))
    for domain in islice(free, DOMAINS_TRIED):
        nodes = sorted(set(_nodes_of(domain)))
        if not nodes:
            os.environ['ROS_DOMAIN_ID'] = str(domain)
            return f'ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'
        taken.append(f'{", ".join(nodes[:3])} in domain {domain}')
    raise ConfigError(
        'no ROS domain is free for the demonstration',
        expected=f'one of {DOMAINS[0]} to {DOMAINS[-1]} without any node',
        found='; '.join(taken) or 'that UDP ports of each are in use',
        do='end nodes on this computer that are not needed, and try again',
    )


def _ports_are_free(domain: int) -> bool:
    """
    Return whether no program of this computer has a port of a ``domain``.

    Every node has some: also one that is not found, as nodes beyond the 32nd of a process are not.
    """
    for port in range(FIRST + PORTS * domain, FIRST + PORTS * (domain + 1)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port_socket:
            try:
                port_socket.bind(('', port))
            except OSError:
                return False
    return True


def _nodes_of(domain: int) -> Iterator[str]:
    """Yield the other nodes of a ``domain``."""
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = Node(
        f'_listener_{os.getpid()}',
        context=context,
        namespace=NAMESPACE,
        enable_rosout=False,
        start_parameter_services=False,
        use_global_arguments=False,
    )
    listener = node.get_fully_qualified_name()
    try:
        end = time.monotonic() + LISTENS
        while time.monotonic() < end:
            for name, space in node.get_node_names_and_namespaces():
                full = f'{space.rstrip("/")}/{name}'
                if full != listener:
                    yield full
            time.sleep(0.1)
    finally:
        node.destroy_node()
        context.try_shutdown()
