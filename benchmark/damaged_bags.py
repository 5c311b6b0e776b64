"""
Damaged mcap bags: cut and flip them at random places, read them, and count what was lost and said.

    python benchmark/damaged_bags.py [--cuts 80] [--flips 150] [--seconds 10]

With and without compression, a bag of joint states, IMU and a robot description is written.
Each damaged copy is read; printed are the copies whose every whole part was read, those that
lacked messages of whole parts, those whose loss was not said, and those with a number that was
not written (a silent change).  The whole parts come from the mcap library's index.
"""

import argparse
from collections import Counter
import logging
from pathlib import Path
import tempfile

import mcap.reader
import numpy as np

from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.messages import JOINT_STATE
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.recording import Channel, Recording

START = 1_700_000_000_000_000_000
HEAD = 32768  # bytes that no copy lacks


def recording(seconds, rng):
    """Return a Recording of random numbers."""
    def channel(topic, kind, rate, names, **shapes):
        stamp = START + np.arange(int(seconds * rate)) * (10 ** 9 // rate)
        fields = {name: rng.normal(size=(len(stamp), *shape)) for name, shape in shapes.items()}
        return Channel(topic, kind, stamp, stamp + 70_000 + rate, fields, names)
    joints = tuple(f'joint_{i}' for i in range(7))
    channels = [
        channel('/joint_states', JOINT_STATE, 1000, joints, position=(7,), velocity=(7,),
                effort=(7,)),
        channel('/imu', 'sensor_msgs/msg/Imu', 250, (), angular_velocity=(3,),
                linear_acceleration=(3,))]
    return Recording({c.topic: c for c in channels}, '<robot name="of no interest"/>' * 100)


def mcap_parts(file):
    """Return (n, 2) first and last byte of each chunk, and (n, 2) its first and last time."""
    with file.open('rb') as stream:
        chunks = mcap.reader.make_reader(stream).get_summary().chunk_indexes
    chunks = [c for c in chunks if c.message_start_time < c.message_end_time]  # not the text alone
    return (np.array([[c.chunk_start_offset, c.chunk_start_offset + c.chunk_length - 1]
                      for c in chunks])[:, None],
            np.array([[c.message_start_time, c.message_end_time] for c in chunks]))


def outcome(file, written, must):
    """Return what became of a damaged file: (lacking messages, changed numbers, said) or why."""
    try:
        read = read_bag(file)
        for topic in read.channels:
            read.channels[topic]
    except InertialIdError as error:
        return 'refused', str(error)
    lacking, changed, lost = 0, 0, 0
    for topic, channel in written.channels.items():
        got = read.channels.get(topic)
        times = got.received_ns if got is not None else np.empty(0, np.int64)
        place = np.searchsorted(channel.received_ns, times).clip(0, len(channel) - 1)
        changed += int((channel.received_ns[place] != times).sum())
        for name, values in channel.fields.items() if len(times) else ():
            changed += int((got.fields[name] != values[place]).sum())
        changed += len(times) - len(np.unique(times))
        lost += len(channel) - len(times)
        needed = channel.received_ns[must(channel.received_ns)]
        lacking += int((~np.isin(needed, times)).sum())
    changed += len(set(read.channels) - set(written.channels))
    changed += read.robot_description not in ('', written.robot_description)
    said = read.provenance['damage'] or read.provenance['left_out']
    return ('changed' if changed else 'loss not said' if lost and not said
            else 'lacking whole parts' if lacking else 'whole parts read'), said


def campaign(folder, compress, options):
    """Yield (kind of damage, outcome, place, words) of every damaged copy."""
    rng = np.random.default_rng(7)
    written = recording(options.seconds, rng)
    write_recording(folder / 'bag', written, compress=compress)
    file = folder / 'bag' / 'bag.mcap'
    places, times = mcap_parts(file)
    data, copy = file.read_bytes(), folder / 'copy.mcap'
    cuts = rng.integers(HEAD, len(data) - 1, options.cuts)
    flips = rng.integers(0, len(data) - 1, options.flips)
    for kind, place in [('cut', p) for p in cuts] + [('flip', p) for p in flips]:
        if kind == 'cut':
            copy.write_bytes(data[:place])
            whole = (places[..., 1] < place).all(axis=1)
        else:
            damaged = bytearray(data)
            damaged[place] ^= 1 << int(rng.integers(8))
            copy.write_bytes(damaged)
            whole = ((place < places[..., 0]) | (place > places[..., 1])).all(axis=1)
        spans = times[whole]

        def must(received, spans=spans):
            row = np.searchsorted(spans[:, 0], received, 'right') - 1
            return (row >= 0) & (received <= spans[row.clip(0), 1]) if len(spans) else row >= 0
        result, words = outcome(copy, written, must)
        yield kind, result, int(place), words


def main():
    """Run the campaign and print its counts."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    for name, value in (('cuts', 80), ('flips', 150), ('seconds', 10)):
        parser.add_argument(f'--{name}', type=int, default=value)
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    for compress in (False, True):
        counts = Counter()
        with tempfile.TemporaryDirectory() as folder:
            for kind, result, place, words in campaign(Path(folder), compress, options):
                counts[kind, result] += 1
                if options.verbose and result != 'whole parts read':
                    print(kind, place, result, words)
        for (kind, result), count in sorted(counts.items()):
            print(f'{"zstd" if compress else "plain":5} {kind:5} {count:4} {result}')


if __name__ == '__main__':
    main()
